// Deliveries may carry a file, which is stored as a reference.
import type { Dialect } from './dialect.ts'

export const deliveryFile = ({ text }: Dialect): string[] => [`ALTER TABLE outbox ADD COLUMN file ${text}`]
