// Asks the gateway what is wrong with the text, while the reader types.
import { useEffect, useState } from 'preact/hooks'
import type { Reply } from '../api/client.ts'
import { messageOf, useApp } from '../app/app.ts'

export type Checked = Reply<'POST /api/config/check'>

/** How long after the last letter the text is checked. */
const typingMs = 350

/** A reply that a later change has overtaken is dropped. */
export function useCheck(text: string): { checked?: Checked; problem?: string } {
  const { call } = useApp()
  const [state, setState] = useState<{ checked?: Checked; problem?: string }>({})
  useEffect(() => {
    const stop = new AbortController()
    const ask = async (): Promise<void> => {
      try {
        const checked = await call('POST /api/config/check', { body: { text }, signal: stop.signal })
        if (!stop.signal.aborted) setState({ checked })
      } catch (error) {
        if (!stop.signal.aborted) setState({ problem: messageOf(error) })
      }
    }
    const timer = setTimeout(() => void ask(), typingMs)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [text])
  return state
}
