// The names of the hooks, to choose from.
import { useApp } from './app.ts'
import { useMe } from './me.ts'
import { useLoaded } from './pages.ts'

/** Empty if the role of the reader does not include them. */
export function useHookNames(): readonly string[] {
  const { call } = useApp()
  const { may } = useMe()
  const hooks = useLoaded('hooks', async () => (may('GET /api/hooks') ? (await call('GET /api/hooks')).items : []))
  return (hooks.value.value ?? []).flatMap(({ name }) => (name === undefined ? [] : [name]))
}
