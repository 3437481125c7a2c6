// Light or dark colors: those of the system until the reader chooses.
import { effect, type Signal, signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'

export type Theme = 'light' | 'dark'

const key = 'svc-gateway theme'

/** The theme that is shown. A change is kept in this browser. */
export function useTheme(): Signal<Theme> {
  const theme = useMemo(() => signal(readTheme()), [])
  useEffect(
    () =>
      effect(() => {
        if (theme.value === systemTheme()) {
          delete document.documentElement.dataset['theme']
          keep(undefined)
        } else {
          document.documentElement.dataset['theme'] = theme.value
          keep(theme.value)
        }
      }),
    [theme],
  )
  return theme
}

export const nextTheme = (theme: Theme): Theme => (theme === 'dark' ? 'light' : 'dark')

const systemTheme = (): Theme => (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')

/** Storage may be blocked. Then the choice lasts until the page is closed. */
function readTheme(): Theme {
  try {
    const kept = localStorage.getItem(key)
    return kept === 'light' || kept === 'dark' ? kept : systemTheme()
  } catch {
    return systemTheme()
  }
}

function keep(theme: Theme | undefined): void {
  try {
    if (theme === undefined) localStorage.removeItem(key)
    else localStorage.setItem(key, theme)
  } catch {
    // The choice is not kept.
  }
}
