// Deliveries may carry a file, which is stored as a reference.
export const deliveryFile = (): string[] => ['ALTER TABLE outbox ADD COLUMN file TEXT']
