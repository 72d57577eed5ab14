// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.certify;

import io.thalamus.vectors.VectorFormatException;
import java.io.IOException;

/** Checks that belong together. Stateless. */
@FunctionalInterface
interface Group {
  /**
   * Runs all checks.
   *
   * @throws IOException where the data of the checks cannot be read
   * @throws VectorFormatException where it is damaged
   * @throws InterruptedException where the calling thread was interrupted
   */
  void run(Subject subject, Findings findings)
      throws IOException, VectorFormatException, InterruptedException;
}
