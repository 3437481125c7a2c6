// The small config sections: `session`, `storage`, `log`, `plugins`.
import { notBlank, type Static, Type } from '../../typebox.ts'

export const SessionSection = Type.Object(
  {
    mainKey: Type.String({ pattern: notBlank, default: 'main', description: 'Name of the main session of an agent.' }),
    scope: Type.Enum(['per-agent', 'global'], {
      default: 'per-agent',
      description: 'Whether every agent has a main session or all share one.',
    }),
    historyTurns: Type.Integer({ minimum: 0, default: 20, description: 'How many earlier turns a model is shown.' }),
    historyTokens: Type.Integer({
      minimum: 0,
      default: 32_000,
      description: 'How many tokens, estimated, earlier turns may take.',
    }),
  },
  { additionalProperties: false, default: {}, description: 'What the sessions of the agents remember.' },
)

export const StorageSection = Type.Object(
  {
    url: Type.String({
      pattern: notBlank,
      default: 'sqlite:state/gateway.db',
      description: 'Where everything is kept; a path after "sqlite:" is relative to the configuration directory.',
    }),
    retention: Type.Object(
      {
        days: Type.Integer({
          minimum: 0,
          default: 30,
          description: 'How many days deliveries, runs and messages are kept after they are over; 0: for good.',
        }),
        bodyHours: Type.Integer({
          minimum: 0,
          default: 72,
          description: 'How many hours the bodies of webhook requests are kept; 0: as long as the requests.',
        }),
        maxMb: Type.Integer({
          minimum: 0,
          default: 0,
          description: 'How many MiB the store may take before the oldest of them are forgotten sooner; 0: any number.',
        }),
      },
      { additionalProperties: false, default: {}, description: 'How long what is over is kept.' },
    ),
  },
  { additionalProperties: false, default: {}, description: 'Where everything is kept.' },
)

export const LogSection = Type.Object(
  {
    level: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      default: 'info',
      description: 'The least important lines that are written.',
    }),
    pretty: Type.Optional(
      Type.Boolean({
        description: 'Lines for people instead of JSON. Not set: when the standard error is a terminal.',
      }),
    ),
  },
  { additionalProperties: false, default: {}, description: 'The log, on the standard error.' },
)

export const PluginsSection = Type.Array(Type.String({ pattern: notBlank }), {
  default: [],
  description: 'Plugins to load: package names, or paths relative to the configuration directory.',
})

export type SessionConfig = Static<typeof SessionSection>
export type StorageConfig = Static<typeof StorageSection>
export type LogConfig = Static<typeof LogSection>
