// A channel in memory with a login, a logout and requests of its platform, for tests.
import {
  AuthError,
  type Channel,
  defineChannel,
  type LoginQuestion,
  type LoginStep,
  type PlatformResponse,
  Type,
} from '../../core/plugin/plugin.ts'

export interface LoginChannel {
  channel: Channel<never>
  /** Shows the next step to the person. Resolves when the gateway has taken it. */
  show(step: LoginStep): Promise<void>
  /** Asks the person. Resolves with the answer. */
  ask(question: LoginQuestion): Promise<string>
  /** The person confirms. */
  confirm(): void
  /** The platform refuses the login. */
  refuse(error: Error): void
  /** Called for each request of the platform. */
  handle: (body: string) => Promise<PlatformResponse>
}

interface Asked {
  asks: LoginQuestion
  resolve(answer: string): void
  reject(error: unknown): void
}

/** The account is linked while the state has a key `linked`. */
export function createLoginChannel(): LoginChannel {
  type Input = LoginStep | Asked | Error | undefined
  const steps: ((value: Input) => void)[] = []
  const waiting: (() => void)[] = []
  const next = () =>
    new Promise<Input>((resolve) => {
      steps.push(resolve)
      for (const wake of waiting.splice(0)) wake()
    })
  const settle = async (value: Input): Promise<void> => {
    while (steps.length === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    steps.shift()?.(value)
  }
  const double: LoginChannel = {
    show: (step) => settle(step),
    ask: (question) => new Promise((resolve, reject) => void settle({ asks: question, resolve, reject })),
    confirm: () => void settle(undefined),
    refuse: (error) => void settle(error),
    handle: async () => ({ status: 200, body: 'ok' }),
    channel: defineChannel({
      name: 'my-pager',
      description: 'A pager with a login.',
      config: Type.Object({}),
      target: Type.String({ description: 'Anybody.' }),
      limits: { maxText: 100, idempotency: 'none' },
      async connect(_config, { state }) {
        if ((await state.get('linked')) !== true) throw new AuthError('Nobody is logged in.')
        return {
          send: async () => ({ outcome: 'sent' }),
          close: async () => undefined,
          handle: ({ body }) => double.handle(Buffer.from(body).toString()),
        }
      },
      async *login(_config, { ask, state }) {
        for (;;) {
          const step = await next()
          if (step instanceof Error) throw step
          if (step === undefined) break
          if ('asks' in step) await ask(step.asks).then(step.resolve, step.reject)
          else yield step
        }
        await state.set('linked', true)
      },
      logout: async (_config, { state }) => state.delete('linked'),
    }),
  }
  return double
}
