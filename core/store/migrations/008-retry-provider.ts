// The provider for which a run waits to be retried, so that the run is found when the provider works again.
import type { Dialect } from './dialect.ts'

export const retryProvider = ({ text }: Dialect): string[] => [
  `ALTER TABLE run ADD COLUMN retry_provider ${text}`,
  `CREATE INDEX run_of_provider ON run (retry_provider, seq) WHERE status = 'queued' AND retry_provider IS NOT NULL`,
]
