// Asks for the credential, and exchanges the one-time code of a link for it.
import { useState } from 'preact/hooks'
import { ApiError, createClient } from '../api/client.ts'
import { Field } from '../ui/fields.tsx'
import { Mark } from '../ui/icons.tsx'
import { Button, Notice } from '../ui/parts.tsx'
import { type App, messageOf, useApp } from './app.ts'

export function SignIn() {
  const { session } = useApp()
  const [credential, setCredential] = useState('')
  const [problem, setProblem] = useState<string>()
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    const given = credential.trim()
    if (given === '') return setProblem('Enter the credential.')
    setProblem(await refusalOf(given))
  }
  const refusalOf = async (given: string): Promise<string | undefined> => {
    const call = createClient({
      base: new URL('.', location.href).href,
      credential: () => given,
      onUnauthorized: () => undefined,
    })
    try {
      await call('GET /api/me')
      session.signIn(given)
      return undefined
    } catch (error) {
      return error instanceof ApiError && error.status === 401
        ? 'This is not a credential of the gateway.'
        : messageOf(error)
    }
  }
  return (
    <main class="sign-in">
      <form class="card" onSubmit={(event) => void submit(event)}>
        <h1 class="brand">
          <Mark />
          svc-gateway
        </h1>
        {session.notice.value && <Notice tone="warn">{session.notice.value}</Notice>}
        <Field
          label="Gateway credential"
          problem={problem}
          hint={
            <>
              It is <code>gateway.auth.token</code> or <code>gateway.auth.password</code> of the configuration, or the
              token of a client. The command <code>svc-gateway page</code> prints a link that needs none.
            </>
          }
        >
          {(id) => (
            <input
              id={id}
              class="input"
              type="password"
              autocomplete="current-password"
              autofocus
              value={credential}
              onInput={({ currentTarget }) => setCredential(currentTarget.value)}
            />
          )}
        </Field>
        <Button kind="primary" type="submit">
          Sign in
        </Button>
      </form>
    </main>
  )
}

/** Signs in with the code of a link. The code is used up, whatever happens. */
export async function redeemCode({ call, session }: Pick<App, 'call' | 'session'>, code: string): Promise<void> {
  try {
    const { credential } = await call('POST /page/sign-in', { body: { code } })
    session.signIn(credential)
  } catch (error) {
    // Whoever is signed in stays so.
    if (session.credential.peek() === undefined) session.signOut(messageOf(error))
  }
}
