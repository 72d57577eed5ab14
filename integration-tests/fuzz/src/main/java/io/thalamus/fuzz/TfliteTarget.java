// SPDX-License-Identifier: Apache-2.0
package io.thalamus.fuzz;

import io.thalamus.model.reader.ReadOptions;
import io.thalamus.tflite.TfliteReader;

/** The target that Jazzer calls by name for {@link TfliteReader}. */
public final class TfliteTarget {
  private static final TfliteReader READER = new TfliteReader();

  private TfliteTarget() {}

  /** Called by Jazzer. */
  public static void fuzzerTestOneInput(byte[] bytes) {
    Target.read(READER, bytes, ReadOptions.DEFAULT);
    Target.read(READER, bytes, ReadOptions.DEFAULT.withHybrid(true));
  }
}
