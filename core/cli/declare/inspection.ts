// Declares the commands that show and change the state of a running gateway: `runs`, `sessions` and `tools`.
import { type Command, Option } from 'commander'
import { runKinds, runStatuses } from '../../store/run-spec.ts'
import { addControlOptions, addExamples, addJson, parseCount } from './options.ts'

export function registerInspection(program: Command): void {
  registerRuns(program.command('runs').description('List, show, cancel and retry runs.'))
  registerSessions(program.command('sessions').description('List sessions and show one with its transcript.'))
  registerTools(program.command('tools').description('List, run and explain tools.'))
}

const addListOptions = (command: Command): Command =>
  addControlOptions(command)
    .option('--limit <number>', 'maximum number of lines', parseCount, 50)
    .option('--json', 'one JSON object per line, as in the API')

function registerRuns(runs: Command): void {
  const list = runs
    .command('list')
    .description('List runs, newest first.')
    .addOption(new Option('--status <status>', 'only runs with this status').choices(runStatuses))
    .addOption(new Option('--kind <kind>', 'only runs that this started').choices(runKinds))
    .option('--hook <name>', 'only runs of this hook')
    .option('--agent <id>', 'only runs of this agent')
    .option('--session <key>', 'only runs of this session, by its full key')
    .action(async (options) => (await import('../inspect/runs.ts')).listRuns(options))
  addExamples(addListOptions(list), 'runs list --status failed --hook deploys', 'runs list --json | jq .reply')
  const show = runs
    .command('show')
    .description('Show a run: its reply, its error and its deliveries.')
    .argument('<id>', 'the id of the run')
    .action(async (id, options) => (await import('../inspect/runs.ts')).showRun(id, options))
  addExamples(addJson(addControlOptions(show)), 'runs show 01a1f8a8-ffca-74fa-bb31-38be33811f90')
  const cancel = runs
    .command('cancel')
    .description('Cancel a run that is queued or running.')
    .argument('<id>', 'the id of the run')
    .action(async (id, options) => (await import('../inspect/runs.ts')).cancelRun(id, options))
  addExamples(addJson(addControlOptions(cancel)), 'runs cancel 01a1f8a8-ffca-74fa-bb31-38be33811f90')
  const retry = runs
    .command('retry')
    .description('Do a run that failed or timed out once more.')
    .argument('<id>', 'the id of the run')
    .action(async (id, options) => (await import('../inspect/runs.ts')).retryRun(id, options))
  addExamples(addJson(addControlOptions(retry)), 'runs retry 01a1f8a8-ffca-74fa-bb31-38be33811f90')
}

function registerSessions(sessions: Command): void {
  const list = sessions
    .command('list')
    .description('List sessions, the most recently used first.')
    .option('--agent <id>', 'only sessions of this agent')
    .action(async (options) => (await import('../inspect/sessions.ts')).listSessions(options))
  addExamples(addListOptions(list), 'sessions list --agent main')
  const show = sessions
    .command('show')
    .description('Show a session with its waiting events and the newest lines of its transcript.')
    .argument('<key>', 'the key of the session; "main" is the main session of the default agent')
    .action(async (key, options) => (await import('../inspect/sessions.ts')).showSession(key, options))
  addControlOptions(show)
    .option('--limit <number>', 'maximum number of transcript lines, up to 200', parseCount, 50)
    .option('--json', 'one JSON object, as in the API')
  addExamples(show, 'sessions show main')
}

const addSession = (command: Command): Command =>
  addControlOptions(command).option('--session <key>', 'the session of the call (default: the main session)')

function registerTools(tools: Command): void {
  const list = tools
    .command('list')
    .description('List the tools that a call over HTTP may use.')
    .action(async (options) => (await import('../inspect/tools.ts')).listTools(options))
  addSession(list).option('--json', 'one JSON object per line, as in the API')
  addExamples(list, 'tools list', 'tools list --session agent:main:hook:deploys')
  const invoke = tools
    .command('invoke')
    .description('Run a tool and print its result.')
    .argument('<tool>', 'the name of the tool')
    .option('--args <json>', 'its arguments as JSON; @<file> reads a file, and "-" standard input')
    .action(async (tool, options) => (await import('../inspect/tools.ts')).invokeTool(tool, options))
  addSession(invoke).option('--json', 'the result as JSON in one line')
  addExamples(invoke, 'tools invoke session_status', `tools invoke read --args '{"path":"notes.md"}'`)
  const explain = tools
    .command('explain')
    .description('Explain which layer of the policy allows or denies a tool.')
    .argument('<tool>', 'the name of the tool')
    .addOption(new Option('--origin <origin>', 'explain it for a run that a webhook starts').choices(['hook']))
    .action(async (tool, options) => (await import('../inspect/tools.ts')).explainTool(tool, options))
  addExamples(addJson(addSession(explain)), 'tools explain exec --origin hook')
}
