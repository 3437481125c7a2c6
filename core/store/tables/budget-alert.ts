// Alerts about budgets, each of which is sent once in a window.
import type { Timestamp, Transaction } from '../transaction.ts'
import { insertDeliveries, type NewDelivery } from './outbox.ts'

export const budgetAlertWrites = { alertBudget }

/** An alert about a budget, which is sent once in each window. */
export interface BudgetAlert {
  /** The budget and the level that it has reached. */
  name: string
  /** When its window began. */
  window: Timestamp
  delivery: NewDelivery
}

const alertSql = `
  INSERT INTO state (owner, key, value) VALUES ('budget-alert', ?, ?)
  ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value WHERE state.value <> excluded.value`

/** @returns false when the alert of this window was stored before */
async function alertBudget(tx: Transaction, { name, window, delivery }: BudgetAlert, at: Timestamp): Promise<boolean> {
  if ((await tx.run(alertSql, name, JSON.stringify(window))) === 0) return false
  await insertDeliveries(tx, [delivery], at)
  return true
}
