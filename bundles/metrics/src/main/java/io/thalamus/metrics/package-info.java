// SPDX-License-Identifier: Apache-2.0
/**
 * The figures of a server of models, for Prometheus, whose client is inside this bundle.
 *
 * <pre>
 *   ServingListener --> RequestMetrics, counted as it happens
 *   models, devices, cache --> StateMetrics, asked when somebody looks
 *   GET /metrics --> MetricsRoute, all of it as text
 * </pre>
 */
package io.thalamus.metrics;
