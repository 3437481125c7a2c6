// Asks the gateway what the mapping would make of the request, while the reader types.
import { useEffect, useState } from 'preact/hooks'
import type { Reply } from '../api/client.ts'
import { messageOf, useApp } from '../app/app.ts'
import { type GivenRequest, parseHeaders } from './request.ts'

export type Preview = Reply<'POST /api/hooks/preview'>

/** How long after the last letter the mapping is tried. */
const typingMs = 250

interface PreviewOptions {
  mapping: string
  request: GivenRequest
  /** A change asks again. */
  attempt: number
}

/** A reply that a later change has overtaken is dropped. */
export function usePreview({ mapping, request, attempt }: PreviewOptions) {
  const { body, headers, query, hook } = request
  const { call } = useApp()
  const [state, setState] = useState<{ preview?: Preview; problem?: string }>({})
  useEffect(() => {
    const stop = new AbortController()
    const given = { mapping, body, headers: parseHeaders(headers), query, ...(hook !== '' && { hook }) }
    const ask = async (): Promise<void> => {
      try {
        const preview = await call('POST /api/hooks/preview', { body: given, signal: stop.signal })
        setState({ preview })
      } catch (error) {
        if (!stop.signal.aborted) setState({ problem: messageOf(error) })
      }
    }
    const timer = setTimeout(() => void ask(), typingMs)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [mapping, body, headers, query, hook, attempt])
  return state
}
