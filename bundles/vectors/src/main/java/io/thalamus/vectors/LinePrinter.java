// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.MinimalPrettyPrinter;
import java.io.IOException;

/**
 * Lays JSON out for people: objects and arrays open their lines down to the depth of operands and
 * operations, of which each stands on one line. Not thread-safe.
 */
final class LinePrinter extends MinimalPrettyPrinter {
  private static final long serialVersionUID = 1L;

  private int brokenDepth;

  LinePrinter() {
    super("\n");
  }

  /** Says whether the next array or object puts each of its elements on a line of its own. */
  void breakNext(JsonGenerator json) {
    if (brokenDepth == depth(json)) {
      brokenDepth++;
    }
  }

  private static int depth(JsonGenerator json) {
    return json.getOutputContext().getNestingDepth();
  }

  private void close(JsonGenerator json, int entries, char end) throws IOException {
    int outer = depth(json) - 1;
    if (outer < brokenDepth && entries > 0) {
      json.writeRaw("\n" + " ".repeat(outer));
    }
    brokenDepth = Math.min(brokenDepth, outer);
    json.writeRaw(end);
  }

  private void separate(JsonGenerator json, String inline) throws IOException {
    boolean isBroken = depth(json) <= brokenDepth;
    json.writeRaw(isBroken ? "\n" + " ".repeat(depth(json)) : inline);
  }

  @Override
  public void beforeObjectEntries(JsonGenerator json) throws IOException {
    separate(json, "");
  }

  @Override
  public void writeObjectFieldValueSeparator(JsonGenerator json) throws IOException {
    json.writeRaw(": ");
  }

  @Override
  public void writeObjectEntrySeparator(JsonGenerator json) throws IOException {
    json.writeRaw(',');
    separate(json, " ");
  }

  @Override
  public void writeEndObject(JsonGenerator json, int entries) throws IOException {
    close(json, entries, '}');
  }

  @Override
  public void beforeArrayValues(JsonGenerator json) throws IOException {
    separate(json, "");
  }

  @Override
  public void writeArrayValueSeparator(JsonGenerator json) throws IOException {
    json.writeRaw(',');
    separate(json, "");
  }

  @Override
  public void writeEndArray(JsonGenerator json, int entries) throws IOException {
    close(json, entries, ']');
  }
}
