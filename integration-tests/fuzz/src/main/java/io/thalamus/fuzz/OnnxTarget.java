// SPDX-License-Identifier: Apache-2.0
package io.thalamus.fuzz;

import io.thalamus.model.reader.ReadOptions;
import io.thalamus.onnx.OnnxReader;

/** The target that Jazzer calls by name for {@link OnnxReader}. */
public final class OnnxTarget {
  private static final OnnxReader READER = new OnnxReader();

  private OnnxTarget() {}

  /** Called by Jazzer. */
  public static void fuzzerTestOneInput(byte[] bytes) {
    Target.read(READER, bytes, ReadOptions.DEFAULT);
  }
}
