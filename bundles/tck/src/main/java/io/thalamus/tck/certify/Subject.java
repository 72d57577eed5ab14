// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.hal.Device;
import io.thalamus.vectors.Example;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Who is tested, and with what. Immutable.
 *
 * @param device who
 * @param reference whose quantized results count as exact, where one is at hand
 * @param vectors the folder of conformance vectors, where there is one
 * @param singles examples of one operation each, of all that the device supports
 * @param random how many random graphs
 * @param seed of the first
 */
record Subject(
    Device device,
    Optional<Device> reference,
    Optional<Path> vectors,
    List<Example> singles,
    int random,
    long seed) {
  Subject {
    singles = List.copyOf(singles);
  }
}
