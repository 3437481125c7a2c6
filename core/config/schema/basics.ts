// The small config sections: `session`, `storage`, `log`, `telemetry`, `plugins`.
import { fallbackChannel } from '../../action.ts'
import { notBlank, type Static, Type } from '../../typebox.ts'

export const SessionSection = Type.Object(
  {
    mainKey: Type.String({ pattern: notBlank, default: 'main', description: 'Name of the main session of an agent.' }),
    scope: Type.Enum(['per-agent', 'global'], {
      default: 'per-agent',
      description: 'Whether each agent has a main session or all agents share one.',
    }),
    fallbackChannel: Type.String({
      pattern: notBlank,
      default: fallbackChannel,
      description: 'The channel of replies to `last` before the main session has received a message.',
    }),
    historyTurns: Type.Integer({
      minimum: 0,
      default: 20,
      description: 'How many earlier turns of a session the model sees.',
    }),
    historyTokens: Type.Integer({
      minimum: 0,
      default: 32_000,
      description: 'How many tokens, estimated, the earlier turns may take.',
    }),
  },
  { additionalProperties: false, default: {}, description: 'The sessions of agents.' },
)

export const StorageSection = Type.Object(
  {
    url: Type.String({
      pattern: notBlank,
      // The URL of a PostgreSQL database may contain a password.
      secret: true,
      default: 'sqlite:state/gateway.db',
      description:
        'The location of the store: "sqlite:" and a path, which is relative to the configuration directory, or the ' +
        'URL of a PostgreSQL database, such as "postgres://user@host/database".',
    }),
    retention: Type.Object(
      {
        days: Type.Integer({
          minimum: 0,
          default: 30,
          description: 'How many days ended requests, runs and deliveries are kept; 0 keeps them forever.',
        }),
        bodyHours: Type.Integer({
          minimum: 0,
          default: 72,
          description: 'How many hours request bodies are kept; 0 keeps them as long as their requests.',
        }),
        maxMb: Type.Integer({
          minimum: 0,
          default: 0,
          description:
            'Maximum size of an SQLite store in MiB; beyond it the oldest ended records are purged sooner. ' +
            '0: no limit.',
        }),
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
    pretty: Type.Optional(
      Type.Boolean({
        description: 'Readable text instead of JSON. Default: if standard error is a terminal.',
      }),
    ),
  },
  { additionalProperties: false, default: {}, description: 'The log on standard error.' },
)

export const TelemetrySection = Type.Object(
  {
    content: Type.Boolean({
      default: false,
      description: 'Whether traces contain messages, and the arguments and results of tools.',
    }),
    propagateTo: Type.Array(Type.String({ pattern: notBlank }), {
      default: [],
      description:
        'Hosts of web pages, with or without a port, that get the `traceparent` of a call. Model services and MCP ' +
        'servers always get it.',
    }),
  },
  { additionalProperties: false, default: {}, description: 'Traces, which the variables OTEL_* turn on.' },
)

export const PluginsSection = Type.Array(Type.String({ pattern: notBlank }), {
  default: [],
  description: 'Plugins to load: package names, or paths relative to the configuration directory.',
})

export type SessionConfig = Static<typeof SessionSection>
export type StorageConfig = Static<typeof StorageSection>
export type LogConfig = Static<typeof LogSection>
