// The small config sections: `session`, `storage`, `log`, `telemetry`, `plugins`.
import { fallbackChannel } from '../../action.ts'
import { Count, OptionalFlag, Text, Texts } from '../../field-schemas.ts'
import { type Static, Type } from '../../typebox.ts'

export const SessionSection = Type.Object(
  {
    mainKey: Text('Name of the main session of an agent.', { default: 'main' }),
    scope: Type.Enum(['per-agent', 'global'], {
      default: 'per-agent',
      description: 'Whether each agent has a main session or all agents share one.',
    }),
    fallbackChannel: Text('The channel of replies to `last` before the main session has received a message.', {
      default: fallbackChannel,
    }),
    historyTurns: Count('How many earlier turns of a session the model sees.', { default: 20 }),
    historyTokens: Count('How many tokens, estimated, the earlier turns may take.', { default: 32_000 }),
  },
  { additionalProperties: false, default: {}, description: 'The sessions of agents.' },
)

export const StorageSection = Type.Object(
  {
    url: Type.String({
      // The URL of a PostgreSQL database may contain a password.
      secret: true,
      default: 'sqlite:state/gateway.db',
      pattern: '^(?:sqlite:.|postgres(?:ql)?://)',
      errorMessage:
        'must be "sqlite:" and a path, such as "sqlite:state/gateway.db", or the URL of a PostgreSQL database, such ' +
        'as "postgres://user@host/database"',
      description:
        'The location of the store: "sqlite:" and a path, which is relative to the configuration directory, or the ' +
        'URL of a PostgreSQL database, such as "postgres://user@host/database".',
    }),
    retention: Type.Object(
      {
        days: Count('How many days ended requests, runs and deliveries are kept; 0 keeps them forever.', {
          default: 30,
        }),
        bodyHours: Count('How many hours request bodies are kept; 0 keeps them as long as their requests.', {
          default: 72,
        }),
        usageDays: Count('How many days the usage of models (tokens and cost) is kept; 0 keeps it forever.', {
          default: 400,
        }),
        maxMb: Count(
          'Maximum size of an SQLite store in MiB; beyond it the oldest ended records are purged sooner. ' +
            '0: no limit.',
          { default: 0 },
        ),
        auditDays: Count('How many days entries of the audit log are kept; 0 keeps them forever.', { default: 365 }),
      },
      { additionalProperties: false, default: {}, description: 'How long ended records are kept.' },
    ),
  },
  { additionalProperties: false, default: {}, description: 'The store.' },
)

export const LogSection = Type.Object(
  {
    level: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      default: 'info',
      description: 'The lowest level that is logged.',
    }),
    pretty: OptionalFlag('Readable text instead of JSON. Default: if standard error is a terminal.'),
  },
  { additionalProperties: false, default: {}, description: 'The log on standard error.' },
)

export const TelemetrySection = Type.Object(
  {
    content: Type.Boolean({
      default: false,
      description: 'Whether traces contain messages, and the arguments and results of tools.',
    }),
    propagateTo: Texts(
      'Hosts of web pages, with or without a port, that get the `traceparent` of a call. Model services and MCP ' +
        'servers always get it.',
      { default: [] },
    ),
  },
  { additionalProperties: false, default: {}, description: 'Traces, which the variables OTEL_* turn on.' },
)

export const PluginsSection = Texts(
  'Plugins to load: package names, or paths relative to the configuration directory.',
  { default: [] },
)

export type SessionConfig = Static<typeof SessionSection>
export type StorageConfig = Static<typeof StorageSection>
export type LogConfig = Static<typeof LogSection>
