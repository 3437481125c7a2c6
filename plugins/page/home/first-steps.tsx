// The first steps on a new gateway: a webhook, a chat, a model, a channel, a preset. Each leads on, and goes when it is
// done.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { useLoaded } from '../app/pages.ts'
import { formatFragment } from '../app/router.ts'
import { useLive } from '../app/use-live.ts'
import { shellQuote } from '../ui/format.ts'
import { Icon } from '../ui/icons.tsx'
import { Button, Code, Section } from '../ui/parts.tsx'

interface Known {
  hasRequest: boolean
  hasChat: boolean
  hasModel: boolean
  hasChannel: boolean
  /** The presets in use. */
  presets: readonly string[]
  hooksPath: string | undefined
}

interface ConfigParts {
  providers?: object
  channels?: Readonly<Record<string, unknown>>
  hooks?: { enabled?: boolean; path?: string; presets?: readonly string[] }
}

/** Nothing for readers whose role does not include the steps, and for those who have hidden them. */
export function FirstSteps() {
  const { may, mayChat } = useMe()
  const [isHidden, setHidden] = useState(() => readHidden())
  if (isHidden || !mayChat || !may('GET /api/config')) return null
  const hide = (): void => {
    keepHidden()
    setHidden(true)
  }
  return <Steps onHide={hide} />
}

function Steps({ onHide }: { onHide(): void }) {
  const { call } = useApp()
  const known = useLoaded('first steps', async (): Promise<Known> => {
    const [requests, chats, config] = await Promise.all([
      call('GET /api/requests', { query: { limit: 1 } }),
      call('GET /api/runs', { query: { limit: 1, kind: 'chat' } }),
      call('GET /api/config'),
    ])
    const { providers = {}, channels = {}, hooks = {} } = config as ConfigParts
    return {
      hasRequest: requests.items.length > 0,
      hasChat: chats.items.length > 0,
      hasModel: Object.keys(providers).length > 0,
      hasChannel: Object.keys(channels).some((name) => name !== 'console'),
      presets: hooks.presets ?? [],
      hooksPath: hooks.enabled ? hooks.path : undefined,
    }
  })
  useLive('request', () => {
    if (known.value.peek()?.hasRequest === false) void known.reload()
  })
  const { value } = known.value
  // A gateway that has a webhook, a model and a way in or out is not new any more.
  if (!value || (value.hasRequest && value.hasModel && (value.hasChannel || value.presets.length > 0))) return null
  return (
    <Section
      title="The first five minutes"
      action={
        <Button kind="quiet" onClick={onHide}>
          Hide
        </Button>
      }
    >
      <ol class="steps">
        <Step title="Send a first webhook" isDone={value.hasRequest}>
          <FirstWebhook hooksPath={value.hooksPath} />
        </Step>
        <Step title="Chat with the agent" isDone={value.hasChat}>
          <p class="muted">Without a model it answers with simple rules, which is enough to see how it works.</p>
          <a class="button" href={formatFragment({ view: 'sessions', item: 'main' })}>
            Open the chat
          </a>
        </Step>
        <Step title="Connect a model" isDone={value.hasModel}>
          <p class="muted">Name a provider and its key in the configuration, and the model that agents use.</p>
          <Code label="Configuration of a model" text={modelText} />
          <Change />
        </Step>
        <Step title="Connect a channel" isDone={value.hasChannel}>
          <p class="muted">
            It carries messages to and from people. Some platforms then show a QR code to log in with.
          </p>
          <Code label="Configuration of a channel" text={channelText} />
          <Change />
          <a class="button" href={formatFragment({ view: 'channels' })}>
            Show the channels
          </a>
        </Step>
        <Step title="Add a preset" isDone={value.presets.length > 0}>
          <p class="muted">
            It knows the webhooks of a service: its signature, and what an agent must read. Its hook then sends samples.
          </p>
          <Code label="Configuration of a preset" text={presetText} />
          <Change />
          <a class="button" href={formatFragment({ view: 'hooks' })}>
            Show the hooks
          </a>
        </Step>
      </ol>
    </Section>
  )
}

const modelText = `providers: {
  claude: { kind: 'anthropic', apiKey: '\${ANTHROPIC_API_KEY}' },
},
agents: { defaults: { model: 'claude/claude-sonnet-4-5' } },`

const channelText = `channels: {
  telegram: { botToken: '\${TELEGRAM_TOKEN}', dmPolicy: 'pairing' },
},`

const presetText = `hooks: {
  presets: ['github'],
  github: { auth: { secret: '\${GITHUB_SECRET}' } },
},`

/** Where the configuration is changed. */
function Change() {
  const { may } = useMe()
  return (
    <>
      {may('POST /api/config/file') && (
        <a class="button" href={formatFragment({ view: 'config' })}>
          Open the configuration
        </a>
      )}
      <p class="muted">
        The command <code>svc-gateway setup</code> asks for what is needed, tries it, and writes the configuration.
      </p>
    </>
  )
}

function FirstWebhook({ hooksPath }: { hooksPath: string | undefined }) {
  const { call, router } = useApp()
  if (hooksPath === undefined)
    return (
      <p class="muted">
        Webhooks are off. Set <code>hooks.enabled</code> and <code>hooks.token</code> in the configuration.
      </p>
    )
  const send = async (): Promise<void> => {
    const { requestId } = await call('POST /api/hooks/{name}/send', { path: { name: 'agent' }, body: { body: first } })
    router.go({ view: 'requests', item: requestId })
  }
  return (
    <>
      <p class="muted">It starts a run of the agent. You see what arrived, and what the agent made of it.</p>
      <Button kind="primary" icon="send" onClick={send}>
        Send a webhook
      </Button>
      <p class="muted">
        Or send it from a shell. <code>$HOOK_TOKEN</code> is <code>hooks.token</code> of the configuration.
      </p>
      <Code label="Command" text={commandOf(hooksPath)} />
    </>
  )
}

interface StepProps {
  title: string
  isDone: boolean
  children: ComponentChildren
}

function Step({ title, isDone, children }: StepProps) {
  return (
    <li class={`card first-step${isDone ? ' done' : ''}`}>
      <h3 class="line">
        <span class={isDone ? 'good' : 'muted'}>
          <Icon name={isDone ? 'approvals' : 'open'} />
        </span>
        {title}
        {isDone && <span class="muted small">done</span>}
      </h3>
      {!isDone && children}
    </li>
  )
}

const first = { message: 'Say hello.' }

function commandOf(hooksPath: string): string {
  const url = new URL(`${hooksPath.slice(1)}/agent`, new URL('.', location.href)).href
  return `curl -sS ${shellQuote(url)} -H "Authorization: Bearer $HOOK_TOKEN" -d ${shellQuote(JSON.stringify(first))}`
}

const key = 'svc-gateway hides the first steps'

/** Storage may be blocked. Then they are hidden until the page is closed. */
function readHidden(): boolean {
  try {
    return localStorage.getItem(key) !== null
  } catch {
    return false
  }
}

function keepHidden(): void {
  try {
    localStorage.setItem(key, 'yes')
  } catch {
    // The choice is not kept.
  }
}
