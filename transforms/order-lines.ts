// A shop's order: news for the day at once, and a piece of work for each article that has run out. Several actions of
// one request.
import { type ActionOverrides, type Static, type TransformInput, type TransformResult, Type } from 'svc-gateway/plugin'

const Line = Type.Object({
  sku: Type.String(),
  title: Type.String(),
  quantity: Type.Integer({ minimum: 1 }),
  stock: Type.Integer(),
})

export const payload = Type.Object({
  order: Type.String({ minLength: 1 }),
  currency: Type.String({ pattern: '^[A-Z]{3}$' }),
  total: Type.Number({ minimum: 0 }),
  lines: Type.Array(Line, { minItems: 1, maxItems: 150 }),
})

type Order = Static<typeof payload>

export default function transform({ payload }: TransformInput<Order>): TransformResult {
  const { order, currency, total, lines } = payload
  const news: ActionOverrides = {
    action: 'wake',
    text: `Order ${order} of ${total.toFixed(2)} ${currency}, articles: ${lines.length}`,
    wakeMode: 'next-heartbeat',
  }
  return [news, ...lines.filter(({ quantity, stock }) => quantity > stock).map((line) => reorder(order, line))]
}

function reorder(order: string, { sku, title, quantity, stock }: Order['lines'][number]): ActionOverrides {
  return {
    name: `Stock of ${sku}`,
    message: `Order ${order} wants ${quantity} of "${title}" (${sku}) and ${Math.max(0, stock)} are there. Write the reorder for the supplier.`,
    sessionKey: `hook:stock:${sku.toLowerCase()}`,
  }
}
