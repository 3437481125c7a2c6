// The settings of MCP servers: the command or the URL of each.
import { type Static, Type } from 'svc-gateway/plugin'

const ByName = (options: { description: string; value: string }) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: Type.String({ secret: true, description: options.value }),
    description: options.description,
  })

const anyKeyOf = (...keys: readonly string[]) => ({ anyOf: keys.map((key) => ({ required: [key] })) })

const Server = Type.Object(
  {
    command: Type.Optional(
      Type.String({
        pattern: String.raw`\S`,
        description: 'The program to start. It communicates over standard input and output.',
      }),
    ),
    args: Type.Optional(Type.Array(Type.String(), { description: 'The arguments of the program.' })),
    env: Type.Optional(
      ByName({
        description: 'Environment variables of the program. It inherits only PATH, HOME and the like from the gateway.',
        value: 'The value of one variable.',
      }),
    ),
    cwd: Type.String({
      path: true,
      default: '.',
      description: 'The working directory, relative to the configuration directory.',
    }),
    url: Type.Optional(
      Type.String({
        pattern: '^https?://',
        errorMessage: 'must be an http or https URL',
        description: 'The URL of a server with streamable HTTP.',
      }),
    ),
    trusted: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'True: what its tools return was written by people whom you trust as yourself, and does not restrict the turn ' +
          'that reads it.',
      }),
    ),
    headers: Type.Optional(
      ByName({
        description: 'Headers of every request, such as Authorization.',
        value: 'The value of one header.',
      }),
    ),
  },
  {
    additionalProperties: false,
    oneOf: [
      { required: ['command'], not: anyKeyOf('url', 'headers') },
      { required: ['url'], not: anyKeyOf('command', 'args', 'env') },
    ],
    errorMessage: 'must have either "command", with "args" and "env", or "url", with "headers"',
    description: 'One server: "command" for a program on this machine, "url" for a service.',
  },
)

export const Config = Type.Object(
  {
    servers: Type.Unsafe<Record<string, Static<typeof Server>>>({
      type: 'object',
      additionalProperties: Server,
      default: {},
      description: 'MCP servers by name. Their tools are called <server>__<tool>.',
    }),
  },
  { additionalProperties: false, description: 'MCP servers whose tools the agents may use.' },
)
export type Config = Static<typeof Config>

export type ServerSettings = Static<typeof Server>

/** Checks what the schema cannot, and returns the end of a sentence. */
export const settingsFault = ({ url }: ServerSettings): string | undefined =>
  url === undefined || URL.canParse(url) ? undefined : 'its "url" is not an address'
