// SPDX-License-Identifier: Apache-2.0
package io.thalamus.metrics;

import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.expositionformats.ExpositionFormats;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Optional;

/** All figures as a text. Thread-safe. */
final class Exposition {
  private final RequestMetrics requests;
  private final StateMetrics states;
  private final ExpositionFormats formats = ExpositionFormats.init();

  Exposition(RequestMetrics requests, StateMetrics states) {
    this.requests = requests;
    this.states = states;
  }

  /** The figures of one moment. */
  record Text(String contentType, byte[] bytes) {}

  /**
   * Returns the figures of now.
   *
   * @param accept the formats that the client takes; the oldest is for those that do not say
   */
  Text write(Optional<String> accept) {
    ExpositionFormatWriter writer = formats.findWriter(accept.orElse(null));
    MetricSnapshots.Builder all = MetricSnapshots.builder();
    requests.scrape().forEach(all::metricSnapshot);
    states.scrape().forEach(all::metricSnapshot);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try {
      writer.write(bytes, all.build());
    } catch (IOException e) {
      throw new IllegalStateException("bytes in memory could not be written", e);
    }
    return new Text(writer.getContentType(), bytes.toByteArray());
  }
}
