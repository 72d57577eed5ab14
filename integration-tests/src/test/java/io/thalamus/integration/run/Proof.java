// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;

/** One long run that can be asked for by name. */
interface Proof {
  /** The word on the command line. */
  String name();

  /** One line for the list of proofs. */
  String purpose();

  /**
   * Runs to the end, giving every figure to {@code figures} as soon as it is known.
   *
   * @param settings options of the command line; each is asked for by name before the work starts
   * @param figures what was found, and what was promised
   * @throws Exception anything that keeps the proof from being made
   */
  void run(Settings settings, Figures figures) throws Exception;
}
