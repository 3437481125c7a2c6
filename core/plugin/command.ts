// The contract of a command: `svc-gateway <name>` on the command line.
import type { Json } from './context.ts'

/** What the shell completes a value with: names of the configuration, ids of the running gateway, or files. */
export type CompletedValue =
  | 'agent'
  | 'channel'
  | 'file'
  | 'hook'
  | 'mapping'
  | 'preset'
  | 'request'
  | 'run'
  | 'sample'
  | 'scheme'
  | 'session'
  | 'tool'
  | 'transform'

interface CommandValue {
  description: string
  /** The only values that are accepted. */
  choices?: readonly string[]
  /** What the shell completes it with. Only of built-in commands: a completion imports no plugin. */
  completes?: CompletedValue
}

/** A word of the command line at a fixed place. */
export interface CommandArgument extends CommandValue {
  /** It may be missing. Optional arguments come last. */
  optional?: true
}

/** `--name`. */
export interface CommandOption extends CommandValue {
  /** The placeholder of its value: `<file>`, or `[name]` if the value may be missing. Absent: the option is a flag. */
  value?: `<${string}>` | `[${string}]`
  /** It must be given. */
  required?: true
  /** It may be given several times; the value is a list. */
  repeatable?: true
  default?: string | number
  /** Reads the value. Throw an `InputError` that says what is accepted. */
  parse?(text: string): unknown
}

type ValueOf<One> = One extends { parse(text: string): infer Parsed }
  ? Parsed
  : One extends { choices: readonly (infer Choice)[] }
    ? Choice
    : One extends { value: `[${string}` }
      ? string | true
      : string

type OptionValue<One> = One extends { value: string }
  ? One extends { repeatable: true }
    ? ValueOf<One>[]
    : One extends { default: unknown } | { required: true }
      ? ValueOf<One>
      : ValueOf<One> | undefined
  : boolean | undefined

type ArgumentValue<One> = One extends { optional: true } ? ValueOf<One> | undefined : ValueOf<One>

/** What a command gets from the command line: its arguments and options by name, `json` and `limit`. */
export type CommandInput<Arguments = {}, Options = {}> = {
  -readonly [Name in keyof Arguments]: ArgumentValue<Arguments[Name]>
} & { -readonly [Name in keyof Options]: OptionValue<Options[Name]> } & { json?: boolean; limit: number }

/** What every command gets. */
interface BaseContext {
  terminal: Terminal
  /**
   * Aborted at Ctrl-C and SIGTERM. A command that reads it ends itself, and a second signal ends the process at once.
   * If the command then ends without an error, the exit code is 130.
   */
  readonly signal: AbortSignal
}

interface NeededContext {
  control: ControlClient
  configuration: Configuration
}

/** The context of a command that needs these things. */
export type CommandContext<Need extends keyof NeededContext = never> = BaseContext & Pick<NeededContext, Need>

/** Prints for people and programs. Texts from outside are escaped, so that they cannot affect the terminal. */
export interface Terminal {
  /** Whether a person can be asked: standard input and output are a terminal. */
  readonly isInteractive: boolean
  /** Prints a text with a line break. */
  print(text: string): void
  /** Prints a part of a line, for text that arrives in parts. */
  write(text: string): void
  /** Prints to standard error what is not a part of the result. */
  notify(sentence: string): void
  /** Prints a value as one line of JSON. */
  printJson(value: unknown): void
  /** Prints one line. Cells that are a status have a colour in a terminal. */
  printRow(cells: readonly string[]): void
  /** Prints a table with aligned columns; with `json`, each item as one line of JSON. */
  printList<Item>(items: AsyncIterable<Item> | Iterable<Item>, list: PrintedList<Item>): Promise<void>
  /** Prints one field per line, and one line for each value of a list. Fields without a value are left out. */
  printFields(fields: Readonly<Record<string, string | readonly string[] | undefined>>): void
  /** Shows the progress of long work: a bar in a terminal, lines elsewhere, or JSON lines. */
  showProgress<Step extends string>(steps: ProgressSteps<Step>, options?: ProgressOptions): Promise<ProgressView<Step>>
  /** Asks a person to choose. Ctrl-C ends the command with the exit code 130 and without a change. */
  choose<Value>(question: string, choices: readonly Choice<Value>[]): Promise<Value>
  /** Asks a person for a text. Without a terminal, it is the next line of standard input. Ctrl-C as for `choose`. */
  ask(question: string, options?: { secret?: boolean }): Promise<string>
  /** How to run a command of this gateway, to copy: `svc-gateway check`, or with npm in a checkout. */
  commandLine(command: string): string
}

/** How a list is printed. */
export interface PrintedList<Item> {
  /** What the items are, for messages: `runs`. */
  noun: string
  /** By title. */
  columns: Readonly<Record<string, (item: Item) => string | undefined>>
  /** Prints at most so many, and says if there are more. Default: all. */
  limit?: number
  json?: boolean | undefined
}

/** The steps of long work, by the names that they have in JSON. */
export type ProgressSteps<Step extends string> = Readonly<
  Record<Step, { title: string; unit: 'bytes' | 'files' | 'requests' | 'rows' }>
>

/** How progress is shown. */
export interface ProgressOptions {
  json?: boolean | undefined
  /** Where there is no terminal, show nothing: the lines of the result are enough. */
  onlyInTerminal?: boolean
}

/** How far long work is. */
export interface ProgressView<Step extends string> {
  /** `done` and `total` are in the unit of the step. */
  report(progress: { step: Step; done: number; total: number }): void
  /** Prints a text with a line break without breaking the bar. */
  print(text: string): void
  end(): void
}

/** One of several answers to a question. */
export interface Choice<Value> {
  value: Value
  label: string
  hint?: string
}

/** A client of the running gateway. Each call rejects with a `CommandError`. `Reply` is not checked. */
export interface ControlClient {
  /** The address of the gateway, without a slash at its end. */
  readonly address: string
  /** Calls the control API and returns the JSON of the answer. */
  get<Reply = Json>(path: string): Promise<Reply>
  post<Reply = Json>(path: string, body: object): Promise<Reply>
  delete<Reply = Json>(path: string): Promise<Reply>
  /** The items of a list, such as `/api/runs`. Pages are requested as they are needed. */
  list<Item = Json>(path: string, query?: Readonly<Record<string, string | undefined>>): AsyncIterable<Item>
  /** Opens the WebSocket at `/ws` and authenticates. */
  connect(onNotification: (method: string, params: unknown) => void): Promise<ControlConnection>
}

/** The WebSocket of the running gateway: JSON-RPC 2.0. It is disposed by closing it. */
export interface ControlConnection extends Disposable {
  call<Reply = Json>(method: string, params: object): Promise<Reply>
  /** Resolves with the reason when the connection is closed. */
  readonly closed: Promise<string>
}

/** The configuration file of the gateway. */
export interface Configuration {
  /** The file that `--config` names or that the gateway would use; `undefined` if there is none. */
  locate(): string | undefined
  /** Where a first configuration belongs: `--config`, or else the usual place. */
  readonly newFile: string
  /** The content of the file, as it is written: without defaults, and with references to the environment. */
  read(): Readonly<Record<string, unknown>>
  /** Merges keys into the file and keeps the rest of it; `null` removes a key. Writes only what is valid. */
  merge(changes: Readonly<Record<string, Json>>): Promise<void>
  /** Adds an item to a list, such as `gateway.auth.clients`, and keeps the rest of the file. Writes only what is valid. */
  addToList(path: string, item: Json): Promise<void>
  /** Removes an item of a list by its position, from 0. */
  removeFromList(path: string, index: number): Promise<void>
  /** Writes `newFile`, which only the user can read. Rejects if it exists, unless `replace` is set. */
  create(text: string, options?: { replace?: boolean }): void
  /** What the command `check` finds in a configuration file. */
  check(file: string): Promise<ConfigurationFinding[]>
  /** The names of the built-in extensions of one kind. */
  listNames(kind: 'channel' | 'toolset' | 'preset' | 'provider'): Promise<string[]>
  /**
   * Finds the scheme with which the sender of a request signs or authenticates: the built-in one that reads one of these
   * headers.
   * @param headers by name in lower case; a value may be a placeholder of documentation
   */
  findScheme(headers: Readonly<Record<string, string>>): Promise<{ name: string; header: string } | undefined>
  /**
   * Runs the setup that a preset declares, and writes its section. `report` gets what was done, and what is left to do
   * by hand.
   */
  setUpPreset(
    name: string,
    answers: Readonly<Record<string, unknown>>,
    report: (kind: 'done' | 'todo', sentence: string) => void,
  ): Promise<void>
}

/** An error or a warning of a configuration. */
export interface ConfigurationFinding {
  severity: 'error' | 'warning'
  /** Names the kind of the problem, for programs. */
  code?: string
  /** Dotted path of the key; empty for the file as a whole. */
  path: string
  line?: number
  column?: number
  /** What is wrong and how to fix it, as the end of a sentence about the key. */
  problem: string
}

/** A command of the command line. */
export interface Command {
  readonly kind: 'command'
  /** One word, or two: `import openclaw` is the command `openclaw` of the group `import`. */
  name: string
  description: string
  /** Describes the group of a name of two words. One command of the group needs it. */
  group?: string
  /** By name, in order: `requestId` is `<request-id>` on the command line. */
  arguments?: Readonly<Record<string, CommandArgument>>
  /** By name: `dryRun` is `--dry-run` on the command line. */
  options?: Readonly<Record<string, CommandOption>>
  /** Command lines without `svc-gateway`, for the help and the documentation. */
  examples: readonly string[]
  /**
   * What `run` gets: `control`, a client of the running gateway, with the options `--config`, `--url` and `--token`;
   * `configuration`, the configuration file, with the option `--config`.
   */
  needs?: readonly (keyof NeededContext)[]
  /** What the option `--json` prints. Absent: there is no such option. */
  json?: string
  /** The default of the option `--limit`, for lists. Absent: there is no such option. */
  limit?: number
  /** Does the work. Import the code here, so that the declaration costs nothing. */
  run(input: never, context: never): Promise<void> | void
}

/**
 * Declares a command.
 * @example export default defineCommand({ name: 'weather', description: 'Print the weather.', examples: ['weather'],
 *   run: async (input, context) => (await import('./weather.ts')).printWeather(input, context) })
 */
export const defineCommand = <
  const Arguments extends Readonly<Record<string, CommandArgument>> = {},
  const Options extends Readonly<Record<string, CommandOption>> = {},
  const Need extends keyof NeededContext = never,
>(
  command: Omit<Command, 'kind' | 'arguments' | 'options' | 'needs' | 'run'> & {
    arguments?: Arguments
    options?: Options
    needs?: readonly Need[]
    run(input: CommandInput<Arguments, Options>, context: CommandContext<Need>): Promise<void> | void
  },
): Command => ({ kind: 'command', ...command })
