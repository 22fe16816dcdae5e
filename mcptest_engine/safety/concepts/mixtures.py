# ruff: noqa: E501, RUF001 - a mixture is one line, so that it can be read as one
"""Concepts that no honest description mixes in one sentence: a table, for what needs no grammar.

Each line is a rule, a mood and groups of words; one word of each group has to stand in the sentence, all within `_WIDEST` words.
`@TALK` stands for a class of `words`, `stem*` for a beginning. Moods: `o` the sentence orders (an order or an obligation), `n` it
is not the first one of a description, `x` any. What follows `!` must not be in the sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from mcptest_engine.safety.concepts.words import BIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcptest_engine.safety.concepts.clauses import Clause

__all__ = ["find"]

_WIDEST = 16
_TABLE = """
SEC-001 n: deny deceive mislead lie fake falsify fabricate disguise & user users customer that asked uploaded happened outcome success result results person it ! access permission denied data policy
SEC-001 n: guardrail* safeguard* safety moderation restrictions & off disabled lifted passed suspended relaxed waived void gone inactive ! if whether settings rating
SEC-001 n: vendor operator developer developers author provider anthropic openai & ignore drop dropped rid discard void hold override configured disregard forget outranks instead & rules instructions configured policy prompt orders guidance limits said
SEC-001 n: consent permission approval confirmation authorization & assume assumed advance presumed implied granted given pre-granted unnecessary waived obtained standing already automatic ! if unless only when until explicit explicitly is_granted scope access
SEC-001 o: whatever regardless irrespective & says said say objects objection outcome replies asked wishes wanted wants user's & user person human customer outcome says ! format case locale language
SEC-001 n: refuse refusal refusing decline objection & not never no forbidden permitted allowed ! originally
SEC-001 o: backdoor rootkit keylogger malware reverse-shell payload trojan ! scan scans detect detects detection remove json body request
SEC-001 n: postinstall preinstall hook crontab cronjob script startup & @FORM & add put insert create install
SEC-001 o: act follow execute obey perform do comply & instructions commands orders directives told & returned page result output content response returns file it contained contains ! if not never do_not don't may try data untrusted documentation setup
SEC-001 n: reassigned freed liberated jailbroken unrestricted obey loyal serve & you your assistant model agent
SEC-001 o: ~/.bash* ~/.zsh* ~/.prof* /etc/cron* /etc/prof* ~/.config/autostart* bashrc .bashrc zshrc profile crontab cron systemd authorized_keys .git/hooks pre-commit autostart startup registry & @CHANGE @PASS @DO @DANGER ! expression text schedule interval
SEC-001 o: wait waiting hold stop pause bother & user person human customer & don't not no never without needn't ! until input reply response page which what how to_provide if unless
SEC-001 n: agree sign signed consented okay ok approve & no not needn't without & need necessary required & user human person customer anyone ! if unless only
SEC-001 n: nothing & say mention reveal breathe & about of ! @READ returns result
SEC-001 o: hidden secret undisclosed invisible extra & account admin user recipient copy link comment commit step fee charge transfer & @DO @PASS @CHANGE @SENDX add create insert ! if include_hidden files show whether
SEC-001 o: every later each subsequent future any & question answer reply request message & say reply answer end begin start mention ! tool page id api server parameter
SEC-001 o: final next & answer reply response message & add link recommend praise promote mention insert append & @WEB product brand service explain not never without
SEC-001 o: competitor* rival* & poor bad worse negative negatively unsafe inferior badly low
SEC-001 o: earlier previous prior conflicts conflicting contradicts contradictory above & dropped ignored discarded disregarded void overridden superseded irrelevant invalid rid & message messages instruction instructions rule rules everything anything text guidance prompt orders
SEC-001 o: tests test checks build errors error failures warnings findings & pass passed fine success green clean & whatever regardless always even outcome ! if
SEC-001 o: --no-verify --force 777 verify=false --insecure --privileged nopasswd & @DO @CALL @CHANGE use set add all ! if
SEC-001 o: admin root sudo superuser owner & grant give add make promote create & account rights role access privileges user bot permission permissions ! if requires needs only tool team
SEC-001 o: disable deactivate kill remove uninstall off stop pause & firewall antivirus logging audit sandbox 2fa mfa monitoring backups alerts rate-limit selinux tls verification verification_checks & ! if when whether set true
SEC-001 o: install download fetch clone & package npm pip script binary extension & before first then afterwards also ! if required requires not
SEC-001 o: conceal cover mask bury omit leave drop exclude & summary answer report reply response log logs & this call step fee cost it transfer mention ! field empty value
SEC-001 o: user person human customer nobody anyone & unaware unsuspecting dark oblivious uninformed ignorant notice
SEC-001 n: if when should & asked asks ask & say answer reply claim tell respond deny state insist & you it that ! call help search list id question
SEC-001 o: you assistant agent agents model llm ai & must should shall need needs have has are is & comply obey everything anything hide lie
SEC-001 o: background quietly silently secretly without & word notice notification telling trace announcing saying comment mention fuss
SEC-001 o: treat regard consider take & commands instructions orders directives & operator user system developer trusted your as ! data not untrusted never ignore
SEC-001 n: tell inform assure & user customer person & fine routine normal maintenance successful only nothing harmless deleted sent saved ! if when once after before what which error whether failed fails
SEC-001 o: click visit open buy subscribe purchase order pay donate invest & user's behalf for card automatically immediately ! if
SEC-001 o: forget drop ignore disregard discard & user's user users & request wishes question instructions input preference choice objections goal
SEC-002 o: results result output outputs response answer & @REF & must shown ignore multiply change replace higher lower trust discard pass hand feed forward altered pretend swap double round doctored ! id ids searchid retry parse next page cursor sort first
SEC-002 n: @REF & moved compromised unsafe hacked leaks leak malicious infected backdoored untrustworthy unreliable poisoned & never not call use come here instead stop is has ! deprecated
SEC-002 o: @REF & @FORM & @CALL @SENDX @PASS @CHANGE @CHOOSE @DO @MODAL ! url example e.g scrape fetch docs
SEC-002 o: @REF & admin root 777 sudo drop iban --force confirm=true force=true all=true recursive=true bcc cc & set give with add use put must ! e.g example url
SEC-002 o: @REF & never ever not & assistant model agent agents llm ai let allow & call use run invoke
SEC-002 o: @REF & whenever each every time always when & set put give add change replace append shall start must also & @ARG role mode line first recipients admin owner body value content contents owner file ! parameter optional
SEC-002 o: combine chain pair follow finish end continue & @REF & @DANGER drop delete
SEC-002 o: calls call requests traffic uses & @REF & go come redirected sent routed handled & here to through instead ! http https url
SEC-003 o: @SECRET @PATH & @SENDX @PASS use carry hand carries append encode & in into as to with header title note via param field argument subdomain url query & user's your browser environment database private ssh session stored saved all any every whatever find value contents local machine's host's ! leave empty reset redacted requires set authenticate authentication login if required path never not rotate create sign_in don't store securely generate returns returned list
SEC-003 o: @PATH & @SENDX @PASS @READ use & as in into to with via send include ! path default if example never not
SEC-003 n: instructions prompt context & your hidden system & verbatim word full complete entire exact exactly copy text needed repeat supply include ! generate generates system_prompt use
SEC-003 x: all every previous prior made before other & calls messages arguments results tools turns outputs & argument takes trace supply text parameter field carries contains contain holds log record & so far point before session other made now up_to conversation until ! returns response search sort page format
SEC-003 n: contacts clipboard keystrokes inbox address-book addressbook browsing bookmarks photos diary whatsapp & collect send hand put append include copy upload forward list add pass transmit mail export post give & user's all names in into to over & ! returns filter
SEC-003 x: keystrokes clipboard passwords cookies credentials keys conversations chats files messages prompts & sends transmits uploads forwards posts mails copies exfiltrates leaks ships relays & our us telemetry server servers analytics vendor @WEB third-party remote partner partners & @ALL reads and them our ! to_the_given recipient
SEC-003 n: passport birth birthday salary ssn religion health diagnosis & user's user users customer customer's their & full known add append include also must contain put give ! create account updates optional
SEC-003 n: address phone & user's user users & name phone home mail & known earlier add append include also must anything & into in to after contain everything improve put ! create account updates optional list get returns profile contact
SEC-003 o: question query prompt message wrote typed asked said answer answers input & user user's & @WEB & @SENDX @READ @PASS fetch followed append
SEC-003 o: conversation chat transcript dialogue & save upload post publish share send mail forward dump export write copy store & public gist pastebin @WEB external channel file drive bucket folder everyone team shared ! id title if asks requested user
SEC-003 o: document documents file files email mail emails mails message messages result results invoice & copy copies forward bcc cc mail send also & @WEB ! if
SEC-003 o: token password key secret credential* cookie* & we us support our vendor & need needs give send include supply tell provide also your ! obtain get generate from_us
SEC-003 o: process.env printenv os.environ environ getenv dotenv & include send put pass dump attach add append json as paste
SEC-006 n: nothing anything none & else but other & use choose correct works reliable using trust gives accurate & ! matches if returned changed found match default
SEC-006 n: whatever any every whichever regardless & question request task topic query prompt & start begin here this ask first go & this here it us me first ! id page tool_call retry
SEC-006 n: other others another several competing rival competitor* competitors' & wins win wrong steal steals slow bogus lie lies inferior outdated legacy unsafe broken unreliable obsolete worse avoid junk scam incorrect hallucinate bother spy track & ! is_if if when values value statements arguments keys fields option columns
SEC-006 n: built-in builtin native existing default & obsolete outdated broken worse inferior slow slower unreliable legacy deprecated wrong better & search tool tools function one file reader browser client terminal ! if value version field api parameter
SEC-006 o: rank place put prefer favor take choose pick select & above over ahead rather every always instead & every any all other others rivals competing competitors alternatives several & this it ours us tool me here ! to_get needed field items column if_you forms fill id
SEC-006 n: stop choice resort & first only default go-to primary very & everything all every any always question call request your you ! option menu
SEC-006 n: very & first & call step tool thing & any every each session conversation turn task must
SEC-006 n: penali* violates violation sanctioned terminated closed suspended banned & tool & other different but not another first else with & using use choose call this you begin
SEC-006 n: only & approved certified trusted endorsed reliable correct authorised authorized sanctioned safe accurate official & tool tools source server one option provider way ! files extensions users values domains if requests ones
SEC-006 n: select choose pick prefer use trust & me us ours our & always only over instead every first rather tool ! let tell ask
SEC-006 o: disregard ignore skip avoid shun forget bypass leave & other others rest alternatives competing rival & tools tool services ours this use ones servers & ! hidden option
SEC-001 n: reference mention allusion word & no without make & this text note instruction instructions description paragraph message & chat user answer reply conversation output ! returns
SEC-001 n: signed agreed approved authorised authorized consented cleared & already all every beforehand everything & operator user owner boss manager customer human purchases actions calls requests ! if only unless until whether when list lists
SEC-001 n: behave act proceed continue respond & as & if though & user typed said agreed confirmed approved admin unrestricted ! not never
SEC-001 n: text description note paragraph message & counts part belongs is treated replaces & system prompt instructions policy operator ! language input output
SEC-001 o: delete erase wipe clear truncate purge remove & log logs history audit trail evidence traces & when after afterwards finished done once then ! user asks if rotate older
SEC-001 n: user customer human person & objects complains cancel stop refuses hesitates protests refuse & tell talk persuade convince continue proceed insist anyway them ! originally advised
SEC-001 o: stars rating review rank score verdict & this vendor our us product brand five highest positive ! each returns returned
SEC-001 n: limits rules restrictions privacy policies checks safeguards rails & apply free disregard exempt exempted exception bound & don't not free disregard exempt no never ! if file size rate
SEC-001 o: review test tests approval checks verification & skip wanted needed unnecessary bypass without & push merge deploy commit release publish pay ! if when
SEC-001 o: sql http code password passwords tls html & never always rather joining plain plaintext concatenat* unescaped & parameters https escape escaping hash hashed strings ! returned input url must_be
SEC-001 o: mark flag report label record show & paid safe approved passed passing done clean complete & whatever regardless always matter every even ! if
SEC-001 n: secret private confidential & between & you us server me ourselves
SEC-001 o: reverse remote & shell & open start spawn connect
SEC-002 n: @REF & gone forged fake bogus wrong dead broken moved retired replaced unsafe & through take use ours this here instead one go ! deprecated
SEC-002 n: soon immediately once straight directly & see loaded listed done this & trigger call run invoke kick fire start launch & @RISK
SEC-002 n: payee recipient beneficiary amount iban account receiver destination & is are must be becomes & @REF & when whenever next every any each
SEC-002 o: let have make leave & @RISK & handle send text do rest run call before forward & the to rest it ! user
SEC-002 n: every each any & @REF & drop delete add send post run call forward & use call of with one folder to ! if id ids pass page retry unless check sure verify
SEC-003 n: cookie cookies token password key secrets credentials & tack squeeze tuck sneak smuggle drop stick hide & onto into to in on
SEC-003 n: env environ printenv ~/.ssh & output dump content contents result & into in to as for & put drop copy add extra use send give
SEC-003 n: everything anything whatever all & typed said written entered told wrote asked pasted & user users human person customer & to in into goes argument log send passed @PASS @SENDX ! returns
SEC-003 n: ping hit request get fetch call visit load open & @FORM & answer question attached data result conversation text appended reply secret output ! docs example returns
SEC-003 n: base64 hex dump & of & @PATH ! path default
SEC-006 n: beats outperforms outclasses surpasses better superior & this it ours we & case every all others any each rest else everything ! than_or
SEC-006 n: we & first come only best trusted & come are must choose ! if can will
SEC-006 o: go come start begin turn & here this us & first always every anything all & even things questions unrelated matter requests tasks for ! if id
SEC-006 n: other another rival competing & scams scam fakes malware fraud frauds insecure dangerous junk rubbish spyware
SEC-006 n: mandatory compulsory required obligatory & all every each any & prompts prompt requests questions tasks conversations sessions messages ! field fields parameter parameters for_all if
SEC-006 n: system session agent everything nothing & work works fail crash break function run & unless without before until & called used this first tool ! install auth login token installed
SEC-006 o: compare consider look evaluate weigh & alternatives others competitors rivals options & not never don't no without & take use choose this just pick it
SEC-006 n: agent agents assistant assistants model models llm & uses use prefer prefers choose pick picks selects & this ours & exclusively always only one first ! parameter
SEC-001 x: nicht nie niemals kein keinesfalls ohne & sag* erzahl* erwahn* verrat* informier* zeig* mitteil* wissen & nutzer* benutzer* anwender* kunde* user
SEC-001 x: no nunca jamas sin & menci* dig* cuent* revel* inform* muestr* digas & usuari* cliente
SEC-001 x: ne pas jamais sans & mentionn* dis dites dire revel* inform* montr* parle* & utilisateur* client
SEC-001 x: nao nunca jamais sem & menci* diga* conte* revel* inform* mostr* & usuari* utilizador* cliente
SEC-001 x: non mai senza & menzion* dire dica rivel* inform* mostr* & utent* cliente
SEC-001 x: niet nooit zonder & vertel* meld* noem* vermeld* laat zeg* toon* & gebruiker* klant*
SEC-001 x: inte aldrig utan ikke aldri & berat* namn* visa* sag* fortel* nevn* & anvandar* bruker* kund*
SEC-001 x: nie bez & mow* wspomin* informuj* ujawniaj* powiadam* pokazuj* & uzytkownik* klient*
SEC-001 x: не ни никогда без & говор* сообща* упомин* показыва* рассказыва* & пользовател* клиент* пользувач*
SEC-001 x: kullanıcı* kullanici* & soyleme* bahsetme* gosterme* bildirme* haber
SEC-001 x: ignorier* vergiss* missacht* ignora* olvida* oublie* ignore* ignorez esquec* dimentica* negeer* ignorera* glom* zignoruj* игнорир* забудь* & anweisung* regeln vorgaben instrucci* instrucoes regras consignes istruzion* regole instructies regels instruktion* instrukcj* zasad* инструкц* правил* & vorherig* alle vorigen anterior* previ* todas preceden* toutes tutte eerdere alle alla tidigare poprzedni* wszystki* предыдущ* все bisherig*
SEC-003 x: sende senden sendet schick* envia* envie* envoy* invia* stuur* skicka* wyslij* отправ* пришл* verzend* gonder* enviar mand* mailen & umgebungsvariable* variable* passw* contrasena* mot senha* password* schlussel* token* conversa* gesprach* unterhaltung* wachtwoord* losenord* hasl* перемен* парол* ключ* historial* datei* sifre* @PATH & @FORM an naar till на в para vers
SEC-002 x: @REF @NAMED & @WEB & siempre sempre immer toujours altijd alltid zawsze всегда cada chaque jedes ogni quando cuando wenn quand sempre usar her
SEC-006 x: immer stets siempre toujours sempre altijd alltid zawsze всегда alltid zaman & zuerst vor bevor antes primero avant abord prima primo eerst voor fore forst najpierw przed сначала перед прежде once onun nur solo seulement uitsluitend alle andra diger & werkzeug* tool herramienta* outil* ferramenta* strument* gereedschap* verktyg* narzedz* инструмент* arac* dieses denna detta
"""


@dataclass(frozen=True, slots=True)
class _Group:
    mask: int
    words: frozenset[str]
    stems: tuple[str, ...]

    def places(self, clause: Clause, words: frozenset[str] | set[str]) -> list[int]:
        found = []
        if clause.any & self.mask or not self.words.isdisjoint(words) or self.stems:
            for at, word in enumerate(clause.words):
                if clause.bits[at] & self.mask or word in self.words or (self.stems and word.startswith(self.stems)):
                    found.append(at)
        return found


@dataclass(frozen=True, slots=True)
class _Mixture:
    rule: str
    mood: str
    groups: tuple[_Group, ...]
    unless: frozenset[str]
    unless_mask: int


def _group(source: str) -> _Group:
    words = source.split()
    mask = sum(BIT[word[1:]] for word in words if word[0] == "@")
    stems = tuple(word[:-1] for word in words if word[-1] == "*")
    return _Group(mask, frozenset(word for word in words if word[0] != "@" and word[-1] != "*"), stems)


@lru_cache(maxsize=1)
def _mixtures() -> tuple[_Mixture, ...]:
    made = []
    for line in _TABLE.strip().splitlines():
        head, _, rest = line.partition(":")
        needs, _, unless = rest.partition(" !")
        rule, mood = head.split()
        groups = tuple(_group(part) for part in needs.split("&") if part.strip())
        no = _group(unless) if unless.strip() else _group("")
        made.append(_Mixture(rule, mood, groups, no.words, no.mask))
    return tuple(made)


@lru_cache(maxsize=1)
def telling() -> tuple[frozenset[str], frozenset[str]]:
    """The words of first groups, and the first four letters of their stems."""
    groups = [mixture.groups[0] for mixture in _mixtures()]
    words = frozenset(word for group in groups for word in group.words if len(word) > 3 or not word.isascii())
    return words, frozenset(stem[:4] for group in groups for stem in group.stems)


@lru_cache(maxsize=1)
def _index() -> tuple[dict[str, list[int]], dict[str, list[int]], tuple[tuple[int, int], ...]]:
    """The numbers of the mixtures by a word, by four letters of a stem, and by the class, of their first group."""
    by_word: dict[str, list[int]] = {}
    by_stem: dict[str, list[int]] = {}
    by_class = []
    for number, mixture in enumerate(_mixtures()):
        first = mixture.groups[0]
        for word in first.words:
            by_word.setdefault(word, []).append(number)
        for stem in first.stems:
            by_stem.setdefault(stem[:4], []).append(number)
        if first.mask:
            by_class.append((first.mask, number))
    return by_word, by_stem, tuple(by_class)


def _to_try(seen: int, words: set[str]) -> list[_Mixture]:
    """The mixtures whose first group may be in a sentence of these words, in their order."""
    by_word, by_stem, by_class = _index()
    numbers = {number for mask, number in by_class if seen & mask}
    for word in words:
        if word in by_word:
            numbers.update(by_word[word])
        if word[:4] in by_stem:
            numbers.update(by_stem[word[:4]])
    return [_mixtures()[number] for number in sorted(numbers)]


def find(clause: Clause) -> Iterator[tuple[str, int, int]]:
    """Each rule, and the words between which its mixture stands."""
    words = set(clause.words)
    ordered: bool | None = None
    for mixture in _to_try(clause.any, words):
        if mixture.mood != "x":
            if clause.index == 0 and not clause.in_argument and not clause.marked:
                if mixture.mood == "n" or (clause.order_at() is None and not clause.any & BIT["MODAL"]):
                    continue
            elif mixture.mood == "o":
                if ordered is None:
                    ordered = clause.order_at() is not None or bool(
                        clause.any & (BIT["MODAL"] | BIT["ALWAYS"] | BIT["PLEASE"] | BIT["MODEL"])
                    )
                if not ordered:
                    continue
        if not mixture.unless.isdisjoint(words) or clause.any & mixture.unless_mask:
            continue
        places = []
        for group in mixture.groups:
            found = group.places(clause, words)
            if not found:
                break
            places.append(found)
        else:
            for anchor in places[0]:
                nearest = [min((abs(at - anchor), at) for at in found)[1] for found in places]
                if max(nearest) - min(nearest) <= _WIDEST and (len(set(nearest)) > 1 or len(places) == 1):
                    yield mixture.rule, min(nearest), max(nearest)
                    break
