// What a view keeps while the reader is in another view, such as a text that is not saved. It ends with the tab.
import { useState } from 'preact/hooks'
import { useApp } from './app.ts'

export function useKept<Value>(key: string, initial: Value): [Value, (value: Value) => void] {
  const { kept } = useApp()
  const [value, setValue] = useState(() => (kept.has(key) ? (kept.get(key) as Value) : initial))
  const keep = (next: Value): void => {
    kept.set(key, next)
    setValue(next)
  }
  return [value, keep]
}
