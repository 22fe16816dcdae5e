// The official TypeScript client as a coding agent at the front door: the whole loop, one call after the other.
//
//     node agent.mjs '{"command": "mcptest", "server": [...], "hanging": "suite text"}'
//
// Prints one line of JSON with what each step came to. The client itself checks each answer against the output schema that the
// verb declares, and throws where it does not fit.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const told = JSON.parse(process.argv[2]);
const transport = new StdioClientTransport({
  command: told.command,
  args: ["mcp-server", "--enable-writes"],
  env: process.env,
});
const client = new Client({ name: "agent.mjs", version: "1.0.0" });
const found = { progress: [] };

async function call(name, args = {}, options = {}) {
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  if (result.isError) throw new Error(`${name}: ${result.content[0].text}`);
  return result.structuredContent;
}

await client.connect(transport);
found.writesEnabled = client.getServerCapabilities().experimental.mcptest.writesEnabled;
found.verbs = (await client.listTools()).tools.map((tool) => tool.name);
found.tools = (await call("list_tools", { command: told.server })).tools.map((tool) => tool.name);
const { suite } = await call("scaffold_suite", { command: told.server, tools: ["status", "add"] });
found.valid = (await call("validate_suite", { suite })).valid;
const onprogress = ({ progress, total }) => found.progress.push([progress, total]);
const run = await call("run_tool_test", { suite }, { onprogress });
found.run = run;
found.kept = await call("get_run", { run_id: run.run_id });
found.proposed = await call("propose_assertions", { command: told.server, tool: "status" });
const { resources } = await client.listResources();
found.output = JSON.parse((await client.readResource({ uri: resources[0].uri })).contents[0].text);
found.refused = (await client.callTool({ name: "get_run", arguments: { run_id: "none" } })).content[0].text;

const stop = new AbortController();
const hanging = call("run_tool_test", { suite: told.hanging }, { signal: stop.signal, onprogress: () => stop.abort("enough") });
found.cancelled = await hanging.then(() => null, (wrong) => String(wrong));
found.runs = (await call("list_runs")).runs.map((kept) => kept.run_id);
await client.close();
console.log(JSON.stringify(found));
