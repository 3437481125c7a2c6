// A plot of counts or amounts over time, in the colors of the page.
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'

export interface Series {
  name: string
  /** The name of a color in the stylesheet, such as `--accent`. */
  color: string
  values: readonly number[]
}

interface PlotProps {
  /** What the plot shows, for screen readers. */
  label: string
  /** Unix seconds, one for each value. */
  times: readonly number[]
  series: readonly Series[]
  /** One bar for each day, whose height is written like this. Absent: lines of counts by the minute. */
  perDay?: { format(value: number): string }
}

const height = 140

export function Plot({ label, times, series, perDay }: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const data = [times, ...series.map(({ values }) => values)] as uPlot.AlignedData
  const latest = useRef(data)
  latest.current = data

  useEffect(() => {
    const element = place.current
    if (!element) return undefined
    const draw = (): void => {
      plot.current?.destroy()
      const options = { ...optionsOf(series, perDay), width: element.clientWidth, height }
      plot.current = new uPlot(options, latest.current, element)
    }
    draw()
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }))
    resized.observe(element)
    const recolored = new MutationObserver(draw)
    recolored.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', draw)
    return () => {
      resized.disconnect()
      recolored.disconnect()
      scheme.removeEventListener('change', draw)
      plot.current?.destroy()
    }
  }, [])
  useEffect(() => plot.current?.setData(data), [JSON.stringify(data)])

  return (
    <figure class="plot">
      <figcaption class="line small">
        {series.map(({ name, color }) => (
          <span key={name} class="line muted">
            <span class="dot" style={{ background: `var(${color})` }} />
            {name}
          </span>
        ))}
      </figcaption>
      <div ref={place} role="img" aria-label={label} />
    </figure>
  )
}

/** A canvas knows no variables of the stylesheet. */
function colorOf(name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

type Options = Omit<uPlot.Options, 'width' | 'height'>

function optionsOf(series: readonly Series[], perDay: PlotProps['perDay']): Options {
  const axis: uPlot.Axis = {
    stroke: colorOf('--muted'),
    grid: { stroke: colorOf('--line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  }
  return {
    legend: { show: false },
    cursor: { show: false },
    ...(perDay ? dailyOptions(series, axis, perDay.format) : minuteOptions(series, axis)),
  }
}

const minuteOptions = (series: readonly Series[], axis: uPlot.Axis): Options => ({
  scales: { y: { range: (_plot, _min, max) => [0, Math.max(4, max * 1.1)] } },
  axes: [
    { ...axis, grid: { show: false }, space: 70, size: 26, values: (_plot, ticks) => ticks.map(formatTick) },
    { ...axis, size: 36, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000, 10_000] },
  ],
  series: [{}, ...series.map(({ color }) => ({ stroke: colorOf(color), width: 1.6, points: { show: false } }))],
})

const daySeconds = 86_400

function dailyOptions(series: readonly Series[], axis: uPlot.Axis, format: (value: number) => string): Options {
  const paths = uPlot.paths.bars?.({ size: [0.7, 48] })
  return {
    scales: {
      // The first and the last bar are as wide as the others.
      x: { range: (_plot, min, max) => [min - daySeconds / 2, max + daySeconds / 2] },
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 70,
        size: 26,
        incrs: [1, 2, 7, 14, 30, 60, 120].map((days) => days * daySeconds),
        values: (_plot, ticks) => ticks.map(formatDay),
      },
      { ...axis, size: 64, space: 40, values: (_plot, ticks) => ticks.map(format) },
    ],
    series: [
      {},
      ...series.map(({ color }) => ({
        stroke: colorOf(color),
        fill: colorOf(color),
        width: 0,
        points: { show: false },
        ...(paths && { paths }),
      })),
    ],
  }
}

const formatTick = (seconds: number): string =>
  new Date(seconds * 1000).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

const formatDay = (seconds: number): string =>
  new Date(seconds * 1000).toLocaleDateString(undefined, { month: 'short', day: 'numeric' })
