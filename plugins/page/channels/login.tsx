// The dialog that logs an account in: it shows codes and addresses, asks what the channel wants to know, and follows the
// login until it ends.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { encode } from 'uqr'
import type { Reply } from '../api/client.ts'
import { messageOf, useApp } from '../app/app.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field } from '../ui/fields.tsx'
import { Button, CopyButton, Loading, Notice } from '../ui/parts.tsx'
import { type Account, nameOf } from './account.ts'

type Login = Reply<'GET /api/channels/{name}/login'>

/** How often the state of the login is asked for. A QR code changes about every 20 seconds. */
const pollMs = 1_500

export function LoginDialog({ account, onClose }: { account: Account; onClose(): void }) {
  const { call } = useApp()
  const { channel: name, accountId } = account
  const [attempt, setAttempt] = useState(0)
  const [login, setLogin] = useState<Login>()
  const [problem, setProblem] = useState<string>()

  useEffect(() => {
    let isCurrent = true
    let timer: ReturnType<typeof setTimeout> | undefined
    const follow = async (ask: () => Promise<Login>): Promise<void> => {
      try {
        const next = await ask()
        if (!isCurrent) return
        setLogin(next)
        if (next.status === 'waiting') timer = setTimeout(() => void follow(poll), pollMs)
      } catch (error) {
        if (isCurrent) setProblem(messageOf(error))
      }
    }
    const poll = (): Promise<Login> =>
      call('GET /api/channels/{name}/login', { path: { name }, query: { account: accountId } })
    setLogin(undefined)
    setProblem(undefined)
    void follow(() => call('POST /api/channels/{name}/login', { path: { name }, body: { account: accountId } }))
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [attempt])

  const answer = async (questionId: string, text: string): Promise<void> => {
    const body = { account: accountId, questionId, answer: text }
    setLogin(await call('POST /api/channels/{name}/login/answer', { path: { name }, body }))
  }
  const close = (): void => {
    onClose()
    // The codes of a login that nobody watches must not stay valid.
    if (login?.status === 'waiting')
      call('POST /api/channels/{name}/login/cancel', { path: { name }, body: { account: accountId } }).catch(
        () => undefined,
      )
  }
  return (
    <Dialog title={`Log in to ${nameOf(account)}`} onClose={close}>
      <div class="login" aria-live="polite">
        {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
        {problem === undefined && (login ? <Step login={login} onAnswer={answer} /> : <Loading />)}
        {(problem !== undefined || login?.status === 'failed' || login?.status === 'not_linked') && (
          <Button kind="primary" onClick={() => setAttempt(attempt + 1)}>
            Try again
          </Button>
        )}
        {login?.status === 'linked' && (
          <Button kind="primary" onClick={close}>
            Done
          </Button>
        )}
      </div>
    </Dialog>
  )
}

interface StepProps {
  login: Login
  onAnswer(questionId: string, answer: string): Promise<void>
}

function Step({ login: { status, qr, code, url, question, reason }, onAnswer }: StepProps) {
  if (status === 'linked') return <Notice tone="good">The account is linked.</Notice>
  if (status !== 'waiting') return <Notice tone="bad">{reason ?? 'The account is not linked.'}</Notice>
  // With its id as the key, a form begins empty.
  if (question) return <Question key={question.id} question={question} onAnswer={onAnswer} />
  if (url !== undefined)
    return (
      <>
        <p>
          Open{' '}
          <a href={url} target="_blank" rel="noopener noreferrer">
            {url}
          </a>
          {code === undefined ? '.' : ' and enter this code there.'}
        </p>
        {code !== undefined && <Code code={code} />}
      </>
    )
  if (qr !== undefined)
    return (
      <>
        <QrCode text={qr} />
        <p>Scan this code with the app of the account, in its list of linked devices. It changes by itself.</p>
        <p class="muted small">Whoever scans it has the account, so show it to nobody else.</p>
      </>
    )
  if (code !== undefined)
    return (
      <>
        <p>Type this code into the app of the account.</p>
        <Code code={code} />
      </>
    )
  return (
    <>
      <Loading />
      <p class="muted">The channel prepares the login.</p>
    </>
  )
}

function Code({ code }: { code: string }) {
  return (
    <div class="line">
      <output class="login-code">{code}</output>
      <CopyButton text={code} label="Copy code" />
    </div>
  )
}

function Question({ question, onAnswer }: Pick<StepProps, 'onAnswer'> & { question: NonNullable<Login['question']> }) {
  const { id: questionId, text, secret } = question
  const [answer, setAnswer] = useState('')
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (answer.trim() === '' || isBusy) return
    setBusy(true)
    await onAnswer(questionId, answer.trim()).catch((error: unknown) => setProblem(messageOf(error)))
    setBusy(false)
  }
  return (
    <form class="login-question" onSubmit={(event) => void submit(event)}>
      <Field label={text} problem={problem}>
        {(id) => (
          <input
            {...(secret ? { type: 'password' } : { type: 'text' })}
            id={id}
            class="input"
            autocomplete="off"
            maxLength={1000}
            autofocus
            value={answer}
            onInput={({ currentTarget }) => setAnswer(currentTarget.value)}
          />
        )}
      </Field>
      <Button kind="primary" type="submit" disabled={isBusy || answer.trim() === ''}>
        Continue
      </Button>
    </form>
  )
}

/** Dark squares on white in both color schemes, because some scanners read nothing else. */
export function QrCode({ text }: { text: string }) {
  const code = useMemo(() => draw(text), [text])
  if (!code) return <Notice tone="bad">The code is too long to be shown.</Notice>
  return (
    <svg
      class="qr-code"
      role="img"
      aria-label="QR code"
      viewBox={`0 0 ${code.size} ${code.size}`}
      shape-rendering="crispEdges"
    >
      <rect width={code.size} height={code.size} fill="#fff" />
      <path d={code.path} fill="#000" />
    </svg>
  )
}

/** The squares as one path. Undefined: the text fits into no QR code. */
function draw(text: string): { size: number; path: string } | undefined {
  try {
    const { size, data } = encode(text, { border: 4 })
    const squares = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : [])))
    return { size, path: squares.join('') }
  } catch {
    return undefined
  }
}
