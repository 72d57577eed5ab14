// SPDX-License-Identifier: Apache-2.0
package io.thalamus.fuzz;

import io.thalamus.json.read.JsonReader;
import io.thalamus.model.reader.ReadOptions;

/** The target that Jazzer calls by name for {@link JsonReader}. */
public final class JsonTarget {
  private static final JsonReader READER = new JsonReader();

  private JsonTarget() {}

  /** Called by Jazzer. */
  public static void fuzzerTestOneInput(byte[] bytes) {
    Target.read(READER, bytes, ReadOptions.DEFAULT);
  }
}
