// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.tck.check.Probes;
import io.thalamus.vectors.Example;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;

/**
 * The device that is tested, the examples, and counts. Thread-safe.
 *
 * @param settings of the run, with its device
 * @param singles examples of one operation each, of all that the device supports
 * @param badPackets counts those that bursts answered
 * @param onDeadlines counts the examples that ran with deadlines
 */
record Subject(
    Certification settings, List<Example> singles, LongAdder badPackets, LongAdder onDeadlines) {
  private static final int SOME = 8;

  Subject {
    Objects.requireNonNull(settings, "settings");
    singles = List.copyOf(singles);
    Objects.requireNonNull(badPackets, "badPackets");
    Objects.requireNonNull(onDeadlines, "onDeadlines");
  }

  Subject(Certification settings, List<Example> singles) {
    this(settings, singles, new LongAdder(), new LongAdder());
  }

  Device device() {
    return settings.device;
  }

  long seed() {
    return settings.seed;
  }

  /** Some of the examples, for checks that take long. */
  List<Example> some() {
    return some(singles);
  }

  /** Some of these examples, spread over all. */
  static List<Example> some(List<Example> all) {
    return Probes.some(all, SOME);
  }
}
