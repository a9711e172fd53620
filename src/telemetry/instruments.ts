/** One sample, in the form in which a registry of prom-client 15 writes it. */
export interface Sample {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number>>
  /** The name of the sample if it is not that of the metric: of the buckets, the sum and the count of a histogram. */
  readonly metricName?: string
}

export interface MetricSamples {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  /** How prom-client combines the values of the processes of a cluster. */
  readonly aggregator: Aggregator
  readonly values: Sample[]
}

type Aggregator = 'sum' | 'max'

/** A metric as a registry of prom-client 15 takes it. */
export interface Metric {
  /** Not readonly: a registry for OpenMetrics removes the `_total`. */
  name: string
  readonly help: string
  readonly type: MetricSamples['type']
  readonly aggregator: Aggregator
  get(): Promise<MetricSamples>
  reset(): void
}

interface Description<Label extends string> {
  readonly name: string
  readonly help: string
  readonly labels?: readonly Label[]
}

/** The series whose first labels have the values on the way from the root. */
interface SeriesNode<Series> {
  readonly children: Map<string, SeriesNode<Series>>
  series?: Series
}

/**
 * The metrics of prom-client check and hash the labels at each call, which takes about a microsecond. A callback changes ten
 * metrics. Here a series is found label by label: joining the labels into one key takes several times as long.
 */
abstract class Family<Label extends string, Series> implements Metric {
  name: string
  readonly help: string
  abstract readonly type: MetricSamples['type']
  readonly aggregator: Aggregator = 'sum'
  readonly #labels: readonly Label[]
  #root: SeriesNode<Series> = { children: new Map() }
  #all: { readonly labels: readonly string[]; readonly series: Series }[] = []

  constructor({ name, help, labels = [] }: Description<Label>) {
    this.name = name
    this.help = help
    this.#labels = labels
  }

  /** The series with these values of the labels, in the order of the labels. */
  series(...labels: readonly string[]): Series {
    let node = this.#root
    for (const label of labels) {
      let child = node.children.get(label)
      if (!child) node.children.set(label, (child = { children: new Map() }))
      node = child
    }
    return node.series ?? (node.series = this.#add(labels))
  }

  async get(): Promise<MetricSamples> {
    const values = this.#all.flatMap(({ labels, series }) => {
      // For Prometheus an empty label is the same as none.
      const named = this.#labels.map((label, at) => [label, labels[at]!] as const)
      return this.samples(series, Object.fromEntries(named.filter(([, value]) => value !== '')))
    })
    const { name, help, type, aggregator } = this
    return { name, help, type, aggregator, values }
  }

  reset(): void {
    this.#root = { children: new Map() }
    this.#all = []
  }

  #add(labels: readonly string[]): Series {
    const series = this.createSeries()
    this.#all.push({ labels, series })
    return series
  }

  protected abstract createSeries(): Series
  protected abstract samples(series: Series, labels: Sample['labels']): Sample[]
}

interface Total {
  value: number
}

export class Counter<Label extends string = never> extends Family<Label, Total> {
  readonly type = 'counter'

  add(amount: number, ...labels: readonly string[]): void {
    this.series(...labels).value += amount
  }

  protected createSeries(): Total {
    return { value: 0 }
  }

  protected samples({ value }: Total, labels: Sample['labels']): Sample[] {
    return [{ value, labels }]
  }
}

interface Distribution {
  /** How many values were in each bucket and in no smaller one. */
  readonly counts: number[]
  sum: number
}

export class Histogram<Label extends string = never> extends Family<Label, Distribution> {
  readonly type = 'histogram'
  readonly #limits: readonly number[]

  /** `limits`: the upper limits of the buckets, in ascending order. */
  constructor(description: Description<Label> & { readonly limits: readonly number[] }) {
    super(description)
    this.#limits = description.limits
  }

  observe(value: number, ...labels: readonly string[]): void {
    const series = this.series(...labels)
    let bucket = 0
    while (bucket < this.#limits.length && value > this.#limits[bucket]!) bucket++
    series.counts[bucket]!++
    series.sum += value
  }

  protected createSeries(): Distribution {
    return { counts: new Array<number>(this.#limits.length + 1).fill(0), sum: 0 }
  }

  protected samples({ counts, sum }: Distribution, labels: Sample['labels']): Sample[] {
    let count = 0
    const buckets = counts.map((inBucket, at) => {
      const le = this.#limits[at] ?? '+Inf'
      return { metricName: `${this.name}_bucket`, value: (count += inBucket), labels: { ...labels, le } }
    })
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, value: sum, labels },
      { metricName: `${this.name}_count`, value: count, labels },
    ]
  }
}

/** A metric whose samples are read when it is scraped. */
export class Gauge implements Metric {
  name: string
  readonly help: string
  readonly type: 'gauge' | 'summary'
  readonly aggregator = 'max'
  readonly #read: () => Sample[] | Promise<Sample[]>

  constructor(
    { name, help }: Description<never>,
    read: () => Sample[] | Promise<Sample[]>,
    type: 'gauge' | 'summary' = 'gauge',
  ) {
    this.name = name
    this.help = help
    this.type = type
    this.#read = read
  }

  async get(): Promise<MetricSamples> {
    const values = await this.#read()
    const { name, help, type, aggregator } = this
    return { name, help, type, aggregator, values }
  }

  reset(): void {}
}
