// Lets runs that wait for a provider be tried soon after it works again: a few with each of its answers, so that it is
// not overrun, and so that this ends by itself if it fails again.
import type { Store } from '../../store/store.ts'

export interface ProviderRecovery {
  /** A run waits for the provider now. */
  failed(): void
  /** A model of the provider has answered. */
  answered(provider: string): void
}

interface ProviderRecoveryDeps {
  store: Pick<Store, 'advanceRetries'>
  /** Called when runs are due earlier. */
  onAdvanced(): void
}

const runsPerAnswer = 2
/** The runs are spread over this time. */
const spreadMs = 500
/** How long the store is not asked again after no run waited. Runs of other gateways may wait by then. */
const quietMs = 1_000

export function createProviderRecovery({ store, onAdvanced }: ProviderRecoveryDeps): ProviderRecovery {
  const quietUntil = new Map<string, number>()
  let failureCount = 0

  const advance = async (provider: string): Promise<void> => {
    const countBefore = failureCount
    const now = Date.now()
    const times = Array.from({ length: runsPerAnswer }, () => Math.ceil(now + Math.random() * spreadMs))
    const ids = await store.advanceRetries(provider, times)
    if (ids.length > 0) onAdvanced()
    else if (failureCount === countBefore) quietUntil.set(provider, performance.now() + quietMs)
  }

  return {
    failed: () => {
      failureCount++
      quietUntil.clear()
    },
    answered: (provider) => {
      if ((quietUntil.get(provider) ?? 0) > performance.now()) return
      // If the store is unavailable, the runs are tried at their own times.
      void advance(provider).catch(() => undefined)
    },
  }
}
