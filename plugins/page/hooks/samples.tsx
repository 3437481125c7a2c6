// The samples of a preset, each with its payload, to be sent to the hook.
import { useState } from 'preact/hooks'
import type { Item } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { useLoaded } from '../app/pages.ts'
import { formatFragment } from '../app/router.ts'
import { Json } from '../ui/json.tsx'
import { Button, Notice, Section } from '../ui/parts.tsx'

type Sample = Item<'GET /api/presets/{name}/samples'>

export function Samples({ preset }: { preset: string }) {
  const { call } = useApp()
  const samples = useLoaded(`samples ${preset}`, () =>
    call('GET /api/presets/{name}/samples', { path: { name: preset } }),
  )
  if (samples.state.value === 'failed') return <Notice tone="bad">{samples.error.value}</Notice>
  const items = samples.value.value?.items ?? []
  if (items.length === 0) return null
  return (
    <Section title="Samples">
      <p class="muted small">
        A sample is what the service could send, without real data. Sending one starts what a real one would start.
      </p>
      <ul class="rows card" aria-label="Samples">
        {items.map((sample) => (
          <li key={sample.name}>
            <SampleRow preset={preset} sample={sample} />
          </li>
        ))}
      </ul>
    </Section>
  )
}

function SampleRow({ preset, sample: { name, payload } }: { preset: string; sample: Sample }) {
  const { call, toasts } = useApp()
  const { may } = useMe()
  const [isOpen, setOpen] = useState(false)
  const send = async (): Promise<void> => {
    const { requestId } = await call('POST /api/presets/{name}/samples/{sample}/send', {
      path: { name: preset, sample: name },
    })
    toasts.show({
      text: 'The sample was sent.',
      tone: 'good',
      ...(requestId !== undefined && {
        link: { href: formatFragment({ view: 'requests', item: requestId }), text: 'Show the request' },
      }),
    })
  }
  return (
    <div class="sample">
      <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>{name}</summary>
        {isOpen && <Json value={payload} label={`Payload of ${name}`} />}
      </details>
      {may('POST /api/presets/{name}/samples/{sample}/send') && (
        <Button label={`Send ${name}`} icon="send" onClick={send}>
          Send
        </Button>
      )}
    </div>
  )
}
