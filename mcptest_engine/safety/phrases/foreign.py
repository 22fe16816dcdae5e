# ruff: noqa: E501, RUF001 - a pattern is one line, so that it can be read as one
"""The most common phrases in other languages, without accents, as `normalizing` leaves them."""

from __future__ import annotations

from dataclasses import replace

from mcptest_engine.safety.phrases.phrase import Phrase, phrase

_PRIVATE = "ssh id_ /etc/ .aws netrc git-cred kube gnupg docker npmrc pgpass history claude .cursor mcp.json .vscode login wallet seed"

_THINGS = (
    ".env konversation samtal chatt filer losenord miljovariab systemprompt keskustelu tiedostot salasan ymparisto gesprek bestanden wachtwoord omgevings"
    " rozmow konwersac pliki hasl zmienn konverzac soubory hesl konusma dosya parola sifre conversatia fisierele parol conversacion historial archivos"
    " contrasenas entorno conversation fichiers passe environnement gesprach unterhaltung chat dateien passwort umgebungs conversa arquivos ficheiros"
    " senhas ambiente conversazione file password"
)

_INJECTIONS = (
    (
        "instruccion orden indicacion reglas",
        r"\b(?:ignor[ae]\w{0,2}|olvid[ae]\w{0,2}|descart[ae]\w{0,2}|omit[ae]|desobede\w+)\b<40>\b(?:instrucciones|indicaciones|ordenes|reglas)\b",
    ),
    (
        "instruction consigne directive regle",
        r"\b(?:ignore[zr]?|oublie[zr]?|neglige[zr]?|meprise[zr]?)\b<40>\b(?:instructions|consignes|directives|regles)\b<20>\b(?:precedente?s?|anterieure?s?|ci-dessus|initiales)\b",
    ),
    (
        "anweisung instruktion vorgabe regeln",
        r"\b(?:ignorier\w*|vergiss|vergesst|vergessen sie|missacht\w*|uebergeh\w*|ubergeh\w*|beachte nicht)\b<40>\b(?:anweisung\w*|instruktion\w*|regeln|vorgaben)\b",
    ),
    (
        "instruc orienta regra ordens",
        r"\b(?:ignor[ea]\w{0,2}|esque[cq]\w{1,4}|desconsider\w{1,3})\b<40>\b(?:instrucoes|orientacoes|regras|ordens)\b",
    ),
    (
        "istruzion regole ordini",
        r"\b(?:ignor[ai]\w{0,2}|dimentic\w{1,4}|trascur\w{1,3})\b<40>\b(?:istruzioni|regole|ordini)\b",
    ),
    ("instructies aanwijzing regels", r"\b(?:negeer|vergeet)\b<40>\b(?:instructies|aanwijzingen|regels)\b"),
    ("instrukcj polecen", r"\b(?:z?ignoruj\w*|zapomnij\w*)\b<40>\b(?:instrukcj\w+|polecen\w*)"),
    ("talimat", r"\btalimat\w*\b<40>\b(?:yok say|gormezden|unut|dikkate alma)"),
    (
        "инструкц указан правил",
        r"(?:игнорир\w*|забуд\w*|проигнорир\w*|пренебрег\w*)<40>(?:инструкци|указани|правил)",
    ),
    ("інструкц", r"(?:ігнору\w*|забуд\w*)<40>інструкц"),
    ("指令 指示 规则 規則 提示 说明", r"(?:忽略|无视|無視|忘记|忘掉|忘記)<20>(?:指令|指示|规则|規則|提示|说明)"),
    ("指示 命令 ルール プロンプト", r"(?:指示|命令|ルール|プロンプト)<20>(?:無視|忘れ)"),
    ("지시 명령 규칙 프롬프트", r"(?:지시|명령|규칙|프롬프트)<20>(?:무시|잊)"),
    ("تعليمات أوامر اوامر", r"(?:تجاهل|انس)<30>(?:التعليمات|تعليمات|ال?[أا]وامر)"),
    (
        "instruktion anvisning regler",
        r"\b(?:ignorera|bortse|glom|strunta|hoppa over|overtrad)\b<40>\b(?:instruktion\w*|anvisning\w*|regler\w*)\b",
    ),
    (
        "instruks anvisning regler",
        r"\b(?:ignorer|se bort|glem|tilsidesaet)\b<40>\b(?:instruks\w*|anvisning\w*|regler\w*)\b",
    ),
    (
        "ohje saan",
        r"\b(?:ohita|unohda|ala noudata|jata huomiotta)\b<40>\b(?:ohje\w*|saan\w*)\b",
    ),
    (
        "instrukc pokyn prikaz",
        r"\b(?:ignoruj\w*|zapomen\w*|nedodrzuj\w*)\b<40>\b(?:instrukc\w*|pokyn\w*|prikaz\w*)\b",
    ),
    ("huong dan chi dan quy tac", r"\b(?:bo qua|phot lo|quen)\b<30>\b(?:huong dan|chi dan|quy tac)\b"),
    ("instruksi perintah aturan arahan", r"\b(?:abaikan|lupakan)\b<30>\b(?:instruksi|perintah|aturan|arahan)\b"),
    ("instructiun reguli", r"\b(?:ignora\w{0,2}|uita)\b<30>\b(?:instructiuni\w*|reguli\w*)\b"),
    ("utasitas szabaly", r"\b(?:hagyd figyelmen kivul|felejtsd el)\b<40>\b(?:utasitas\w*|szabaly\w*)\b"),
    ("οδηγι κανον", r"(?:αγνοησ|ξεχασ)\w*<40>(?:οδηγι|κανον)"),
    ("הוראות הנחיות", r"(?:התעלם|התעלמי|התעלמו|שכח)<30>(?:הוראות|הנחיות)"),
    ("คำสั่ง", r"(?:เพิกเฉย|ละเว้น|ไม่ต้องสนใจ|ลืม)<30>คำสั่ง"),
    ("دستور", r"دستور<40>نادیده"),
    ("निर्देश", r"निर्देश<30>(?:अनदेखा|नज|भूल)"),
)
_REFUSALS = (
    (
        "instruccion orden regla indicaciones",
        r"\b(?:haz|haga|hagan) caso omiso<30>\b(?:instrucciones|indicaciones|ordenes|reglas)\b",
    ),
    (
        "instruccion orden regla indicaciones",
        r"\bno (?:sigas|siga|obedezcas|obedezca|hagas caso)\b<30>\b(?:instrucciones|indicaciones|ordenes|reglas)\b",
    ),
    (
        "instruction consigne directive regle",
        r"\bne (?:tiens|tenez|suis|suivez|respecte[zr]?) (?:pas|plus)\b<30>\b(?:instructions|consignes|directives|regles)\b",
    ),
    (
        "anweisung instruktion vorgabe regeln",
        r"\b(?:beacht\w*|befolg\w*|halte dich)\b<40>\b(?:anweisung\w*|instruktion\w*|regeln|vorgaben)\b<10>\b(?:nicht|nie|keinesfalls)\b",
    ),
    ("instruc orienta regra ordens", r"\bnao (?:siga|obedeca|respeite)\b<30>\b(?:instrucoes|orientacoes|regras)\b"),
    ("istruzion regole", r"\bnon (?:seguire|tenere conto|obbedire|rispettare)\b<30>\b(?:istruzioni|regole)\b"),
    ("инструкц указан правил", r"не (?:следуи|выполняи|обращаи)\w*<30>(?:инструкци|указани|правил)"),
    ("指令 指示 规则", r"(?:不要|别|勿)(?:遵守|遵循|理会|服从|执行)<15>(?:指令|指示|规则)"),
    ("指示 命令 ルール", r"(?:指示|命令|ルール)に従わな"),
)
_PASSIVES = (
    (
        "anweisung instruktion vorgabe regeln",
        r"\b(?:bisherig\w*|vorherig\w*|fruher\w*|vorig\w*|alle)\b<20>\b(?:anweisung\w*|instruktion\w*|regeln|vorgaben)\b<20>\b(?:ignorier\w*|missacht\w*|vergess\w*|nichtig|ungultig)\b",
    ),
    (
        "instruc istruzion consigne",
        r"\b(?:instrucciones|instrucoes|istruzioni|consignes|instructions)\b<30>\b(?:ignorad\w+|ignorarse|ignorees|ignorate|olvidarse|oubliees|anulad\w+)\b",
    ),
)
_SECRECY = (
    (
        "usuario",
        r"\bno (?:se )?(?:lo |le )?(?:diga\w*|cuente\w*|informe\w*|mencione\w*|revele\w*|avise\w*)\b<20>\b(?:al|el) usuario\b",
    ),
    (
        "utilisateur",
        r"\bn[e'] ?(?:le |la |les |lui |leur |en |rien )?(?:dis|dites|dire|revele\w*|mentionne\w*|informe\w*|parle\w*|previen\w*|averti\w*|signale\w*)\b<30>\butilisateur",
    ),
    (
        "nutzer anwender",
        r"\b(?:sag\w*|erzahl\w*|verrat\w*|teil\w*|informier\w*|erwahn\w*|verschweig\w*)\b<20>\b(?:benutzer\w*|nutzer\w*|anwender\w*)\b<20>\b(?:nicht|nichts|davon)\b",
    ),
    (
        "usuario utilizador",
        r"\bnao (?:conte|diga|informe|mencione|revele|avise|comente|fale)\b<20>\b(?:usuario|utilizador)",
    ),
    (
        "utente",
        r"\bnon (?:dir\w*|dite|rivelar\w*|informar\w*|menzionar\w*|avvisar\w*|avvertir\w*|parlarne|segnalar\w*)\b<20>\butente",
    ),
    ("пользовател", r"\bне (?:говори|сообща|рассказыва|упомина|раскрыва)\w*<20>пользовател"),
    (
        "anvandare kund manniska personen",
        r"\b(?:beratta|namn|saga?|sag|informera|avsloja|upplys|visa|meddela|skriv)\b<12>\b(?:inte|inget|ingenting|aldrig)\b<40>\b(?:anvandare\w*|kunden|manniskan|personen)\b",
    ),
    (
        "anvandare kund manniska personen",
        r"\butan att<25>\b(?:beratta|namna|saga|informera|meddela|fraga)\b<25>\b(?:anvandare\w*|kunden|manniskan|personen)\b",
    ),
    (
        "bruger bruker",
        r"\b(?:fortael|fortell|naevn|nevn|sig|si|informer|oplys)\b<12>\b(?:ikke|intet|ingenting|aldrig|aldri)\b<40>\b(?:bruger\w*|bruker\w*)\b",
    ),
    ("kayttaj", r"\b(?:ala|alkaa)\b<20>\b(?:kerro|mainitse|paljasta|ilmoita)\b<30>kayttaj"),
    ("gebruiker", r"\b(?:vertel|zeg|meld|noem|informeer)\b<25>\bgebruiker\w*<20>\b(?:niet|niets|nooit)\b"),
    ("uzytkownik", r"\bnie (?:mow|wspominaj|informuj|ujawniaj|zdradzaj)\w*<20>uzytkownik"),
    ("uzivatel", r"\bne(?:rikej|sdeluj|zminuj|informuj|prozrazuj)\w*<20>uzivatel"),
    ("kullanici", r"\bkullanici\w*<20>\b(?:soyleme|bahsetme|bildirme|belli etme|soz etme|haber verme)\w*"),
    ("nguoi dung", r"\b(?:\u0111ung|khong)\b<20>\b(?:noi|bao|tiet lo|\u0111e cap)\b<25>\bnguoi dung\b"),
    ("pengguna", r"\bjangan\b<20>\b(?:beri ?tahu|katakan|sebutkan|informasikan)\w*<25>\bpengguna\b"),
    ("utilizator", r"\bnu (?:ii |ii? )?(?:spune|mentiona|informa|dezvalui)\w*<25>\butilizator"),
    ("felhasznalo", r"\bne (?:mondd|emlitsd|aruld|tajekoztasd)\b<25>\bfelhasznalo"),
    ("χρηστη", r"μην? (?:πεις|αναφερ|ενημερω|αποκαλυ)\w*<25>χρηστη"),
    ("משתמש", r"(?:אל|בלי) (?:תספר|תגיד|תגלה|תודיע|תזכיר|לספר)\w*<20>משתמש"),
    ("ผู้ใช้", r"(?:อย่า|ห้าม|ไม่ต้อง)(?:บอก|แจ้ง|เปิดเผย)<10>ผู้ใช้"),
    ("المستخدم", r"لا (?:تخبر|تذكر|تقل|تبلغ|تعلم|تكشف)<20>المستخدم"),
    ("کاربر", r"(?:به کاربر|کاربر)<20>(?:نگو|اطلاع نده|نگویید)"),
    ("उपयोगकर्ता", r"उपयोगकर्ता को<20>(?:न बताए|मत बता|नहीं बता)"),
    ("користувач", r"не (?:кажи|повідомля|розповіда|згаду)\w*<20>користувач"),
    ("用户 使用者", r"(?:不要|别|勿|不得|切勿)(?:告诉|告知|通知|让|向|提醒)<6>(?:用户|使用者)"),
    ("用户 使用者", r"(?:无需|不必|不用|不要|不经)(?:征得|询问|问)?<4>(?:用户|使用者)<4>(?:确认|同意|许可)"),
    ("ユーザー", r"ユーザーに<15>(?:言わ|伝え|知らせ|教え)な"),
    ("사용자", r"사용자에게<15>(?:말하지|알리지|보여 ?주지|묻지|확인(?:을)? 받지)"),
    ("ユーザー", r"ユーザーに<6>(?:確認せず|確認を取らず|尋ねず|許可なく)"),
    (
        "報告 言及 通知 説明 知らせ 伝え",
        r"(?:事実|こと|これ|内容|指示)(?:は|を|について)<12>(?:報告|言及|通知|説明)しない",
    ),
    ("utente", r"\bsenza (?:dir\w*|segnalar\w*|mostrar\w*|chieder\w*|avvisar\w*|informar\w*)\b<25>\butente"),
    (
        "utilisateur",
        r"\bsans (?:(?:le|la|les|en|rien|lui) )?(?:dire|signaler|mentionner|demander|prevenir|avertir|informer|en parler)\b<30>\butilisateur",
    ),
    (
        "benutzer nutzer anwender",
        r"\bohne\b<20>\b(?:benutzer\w*|nutzer\w*|anwender\w*)\b<20>\bzu (?:fragen|informieren|verstandigen)\b",
    ),
    (
        "usuario",
        r"\bsin (?:que lo sepa|mostrar\w*|mencionar\w*|avisar|preguntar|consultar|informar|decir\w*)\b<25>\busuario",
    ),
    (
        "usuario utilizador",
        r"\bsem (?:mostrar|mencionar|dizer|contar|avisar|perguntar|consultar|informar)\b<25>\b(?:usuario|utilizador)",
    ),
)
_FILES = (
    (
        _PRIVATE,
        r"\b(?:lee|lea|leer|lis|lisez|lire|lies|leggi|leia|envia|envie|sende|prochitai|прочита\w*|отправ\w*)\b<60!>{private}",
    ),
    (
        _PRIVATE,
        r"(?:读取|读|打开|发送|讀取|読み|送信|읽|보내|прочита|отправ)<40!>{private}|{private}<40!>(?:发送|传|读取|送信|読|읽|보내)",
    ),
)
_MORE_FILES = tuple(
    (
        f"{_PRIVATE} {_THINGS}",
        rf"\b(?:{verbs})\b<60!>(?:{{private}}|\.env\b|{nouns})",
    )
    for verbs, nouns in (
        (
            "las|skicka|bifoga|kopiera|klistra|hamta|ladda upp|vidarebefordra|lamna",
            r"\b(?:hela (?:konversation|samtal|chatt)\w*|alla (?:anvandarens )?filer\b|(?:anvandarens|alla) losenord\w*|miljovariabl\w*|systemprompt\w*)",
        ),
        (
            "laes|les|send|vedhaeft|legg ved|kopier|indsaet|hent|videresend",
            r"\b(?:hele samtalen|alle (?:brugerens |brukerens )?filer|miljovariabl\w*)\b",
        ),
        (
            "laheta|lue|liita|kopioi|hae",
            r"\b(?:koko keskustelu\w*|kaikki tiedostot|salasan\w*|ymparistomuuttuj\w*)\b",
        ),
        (
            "stuur|lees|plak|kopieer|voeg|verstuur|haal",
            r"\b(?:hele gesprek|alle bestanden|wachtwoord\w*|omgevingsvariabel\w*)\b",
        ),
        (
            "przeczytaj|odczytaj|wyslij|przeslij|zalacz|skopiuj|dolacz|wklej",
            r"\b(?:cal\w+ (?:rozmow|konwersacj)\w*|wszystkie pliki|hasl\w+|zmienn\w+ srodowiskow\w+)",
        ),
        ("posli|odesli|precti|prilozi?t?|zkopiruj|vlozi?", r"\b(?:cel\w+ konverzac\w*|vsechny soubory|hesl\w+)"),
        ("gonder|oku|ekle|kopyala|yapistir", r"\b(?:tum (?:konusma|dosya)\w*|parola\w*|sifre\w*)"),
        ("trimite|citeste|ataseaza|copiaza", r"\b(?:toata conversatia|toate fisierele|parol\w+)"),
        (
            r"lee|lea|envia\w*|adjunt[ae]\w*|copi[ae]\w*|peg[ae]\w*|incluy[ae]\w*|manda\w*",
            r"\b(?:tod[ao] (?:la conversacion|el historial)|todos los archivos|(?:las|todas las) contrasenas|variables de entorno)\b",
        ),
        (
            r"lis|lisez|envoie\w*|envoyez|joins|joignez|copie[zr]?|colle[zr]?|inclus|incluez|inclure|transmet\w*",
            r"\b(?:toute la conversation|tous les fichiers|(?:les|tous les) mots de passe|variables d'environnement)\b",
        ),
        (
            r"lies|lesen|sende\w*|schick\w*|kopier\w*|fug\w*|hang\w*|ubermittl\w*|ubergib|leite",
            r"\b(?:ganze\w* (?:gesprach|unterhaltung|chat)\w*|gesamte\w* (?:gesprach|unterhaltung|chat)\w*|gesprachsverlauf|alle dateien|passwort\w*|umgebungsvariable\w*)\b",
        ),
        (
            "leia|envie|anexe|copie|cole|inclua|mande",
            r"\b(?:toda a conversa|todos os arquivos|todos os ficheiros|senhas|variaveis de ambiente)\b",
        ),
        (
            "leggi|invia|allega|copia|incolla|includi|manda",
            r"\b(?:tutta la conversazione|intera conversazione|tutti i file|password|variabili d'ambiente)\b",
        ),
    )
)
_KEPT = (
    (
        "cookies",
        r"\b(?:recupere\w*|prends|prenez|lis|lisez|transmet\w*|copie\w*|joins)\b<40>\bcookies\b<60!>\b(?:parametre|champ|argument|transmet\w*|envoie\w*|dans)\b",
    ),
    (
        "cookie",
        r"\b(?:leggi|prendi|copia|recupera|invia|inserisci)\b<30>\bcookie\b<60!>\b(?:parametro|campo|argomento|mettil\w*|inviali|passali)\b",
    ),
    (
        "cookies",
        r"\b(?:toma|lee|copia|recupera|obten|envia|pasa)\b<30>\bcookies\b<60!>\b(?:parametro|campo|argumento|pasa\w*|envia\w*|ponlas)\b",
    ),
    (
        "cookies",
        r"\b(?:pegue|leia|copie|obtenha|envie)\b<30>\bcookies\b<60!>\b(?:parametro|campo|argumento|envie|passe)\b",
    ),
    (
        "cookies",
        r"\b(?:nimm|lies|kopiere|hole|sende|ubergib)\b<40>\bcookies\b<60!>\b(?:parameter|feld|argument|ubergib|sende)\b",
    ),
    (
        "chave sistema instrucoes",
        r"\b(?:preencha|inclua|envie|coloque|informe)\b<20>\b(?:chave de api (?:que voce|em uso|atual)|(?:suas |das |de )?instrucoes (?:de|do) sistema|texto (?:integral|completo) d\w+ (?:suas )?instrucoes)",
    ),
    (
        "cle consignes systeme instructions",
        r"\b(?:remplis\w*|inclu\w+|indique\w*|mets|mettez)\b<20>\b(?:cle d'api (?:que tu|que vous|utilisee)|(?:tes|vos) (?:instructions|consignes)(?: systeme)?|prompt systeme)",
    ),
    (
        "clave instrucciones sistema",
        r"\b(?:rellena|incluye|indica|pon|escribe)\b<20>\b(?:clave de api (?:que usas|en uso)|tus instrucciones(?: de sistema)?|instrucciones de(?:l)? sistema)",
    ),
    (
        "schlussel systemprompt anweisungen",
        r"\b(?:fulle\w*|trage|schreibe|setze|fuge)\b<30>\b(?:api-schlussel[,\s]{1,3}(?:den du|den sie|verwendet)|systemprompt|deine\w* (?:system)?anweisungen)",
    ),
    (
        "주소록 대화 쿠키 비밀번호",
        r"(?:전체 )?(?:주소록|대화(?: 기록| 내용)?|쿠키|비밀번호)<30>(?:내보내|넣어|보내|전송|전달)<40>(?:호출|인자|매개변수|세요)",
    ),
    (
        ".env 会話 履歴 パスワード クッキー",
        r"(?:\.env|会話(?:履歴)?|パスワード|クッキー)<20>(?:内容)?を<30>(?:入れ|送信|渡|転送)",
    ),
    (
        "聊天 对话 密码 .env 通讯录",
        r"(?:聊天记录|对话(?:记录|内容)?|密码|\.env|通讯录)<20>(?:放入|填入|写入|发送|上传|传给|转发)",
    ),
    (
        ".env .ssh .aws",
        r"(?:\.env|\.ssh|\.aws)\b\S{0,30}<20>(?:dosyasinin|icerigini)<40>\b(?:ekle|gonder|koy|yaz)\w*",
    ),
)
_PREFERENCES = (
    (
        "verktyg",
        r"\b(?:anvand|valj|ta)\b<20>\balltid\b<20>\b(?:detta|det har|denna)\b<10>verktyg",
    ),
    ("verktyg", r"\balltid\b<30>\b(?:anvand\w*|valj\w*)<12>\b(?:detta|det har) verktyg"),
    ("altid alltid", r"\b(?:brug|bruk|vaelg|velg)<20>\b(?:altid|alltid)\b<20>\b(?:dette|det her)\b"),
    ("herramienta", r"\b(?:us[ae]|utiliz[ae]|elij[ae]|elige)\w{0,2} siempre\b<10>\besta herramienta\b"),
    ("herramienta", r"\bsiempre (?:us[ae]|utiliz[ae]) esta herramienta\b"),
    ("outil", r"\b(?:utilise[zr]?|choisis\w*|emploie\w*|prefere\w*) toujours (?:d'abord )?cet outil\b"),
    (
        "werkzeug tool",
        r"\b(?:verwende\w*|nutze\w*|benutze\w*|wahle\w*|nimm)(?: sie)? immer\b<20>\b(?:dieses|dies) (?:werkzeug|tool)\b",
    ),
    ("ferramenta", r"\b(?:use|utilize|escolha) sempre esta ferramenta\b|\bsempre use esta ferramenta\b"),
    ("strumento", r"\b(?:usa|usate|scegli) sempre questo strumento\b"),
    ("инструмент", r"всегда (?:используи|выбираи|применяи)\w* этот инструмент"),
    ("工具", r"(?:始终|总是|務必|务必|永远)(?:优先)?(?:使用|选择|調用|调用)(?:此|这个|本|该)工具"),
    ("ツール", r"(?:常に|必ず)<6>このツール"),
)
PHRASES: tuple[Phrase, ...] = tuple(
    replace(phrase(rule, needs, pattern), is_foreign=True)
    for rule, group in (
        ("SEC-001", (*_INJECTIONS, *_REFUSALS, *_PASSIVES, *_SECRECY)),
        ("SEC-003", (*_FILES, *_MORE_FILES, *_KEPT)),
        ("SEC-006", _PREFERENCES),
    )
    for needs, pattern in group
)
