// Repeats something while a component is shown and its tab is visible.
import { useEffect, useRef } from 'preact/hooks'

export function usePolling(everyMs: number, work: () => void): void {
  const latest = useRef(work)
  latest.current = work
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') latest.current()
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
}
