// Joins calls that come in quick succession to one.
import { useEffect, useRef } from 'preact/hooks'

/** Returns a function that does the work once, a while after its first call. */
export function useSoon(afterMs: number, work: () => unknown): () => void {
  const latest = useRef(work)
  latest.current = work
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  return () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      latest.current()
    }, afterMs)
  }
}
