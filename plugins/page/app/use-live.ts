// Lets a component receive the changes of a topic while it is shown.
import { useEffect, useRef } from 'preact/hooks'
import { useApp } from './app.ts'
import type { Topic, Topics } from './live.ts'

export function useLive<Name extends Topic>(topic: Name, receive: (changes: Topics[Name][]) => void): void {
  const { live } = useApp()
  const latest = useRef(receive)
  latest.current = receive
  useEffect(() => live.on(topic, (changes) => latest.current(changes)), [live, topic])
}
