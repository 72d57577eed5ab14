// SPDX-License-Identifier: Apache-2.0
package io.thalamus.json;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.MinimalPrettyPrinter;
import java.io.IOException;

/** Lays a model out with each operand and each operation on one line. Not thread-safe. */
final class LinePrinter extends MinimalPrettyPrinter {
  /** The file, its graphs, a graph, and the list of its operands or operations. */
  private static final int BROKEN = 4;

  private static final long serialVersionUID = 1L;

  private boolean flat;

  LinePrinter() {
    super("\n");
  }

  private static int depth(JsonGenerator json) {
    return json.getOutputContext().getNestingDepth();
  }

  /** Puts what follows on one line, or no longer so. */
  void flat(boolean value) {
    flat = value;
  }

  private void separate(JsonGenerator json, String inline) throws IOException {
    if (flat || depth(json) > BROKEN) {
      json.writeRaw(inline);
    } else {
      json.writeRaw("\n" + " ".repeat(depth(json)));
    }
  }

  private void end(JsonGenerator json, int entries, char end) throws IOException {
    if (!flat && depth(json) <= BROKEN && entries > 0) {
      json.writeRaw("\n" + " ".repeat(depth(json) - 1));
    }
    json.writeRaw(end);
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
    end(json, entries, '}');
  }

  @Override
  public void beforeArrayValues(JsonGenerator json) throws IOException {
    separate(json, "");
  }

  @Override
  public void writeArrayValueSeparator(JsonGenerator json) throws IOException {
    json.writeRaw(',');
    separate(json, " ");
  }

  @Override
  public void writeEndArray(JsonGenerator json, int entries) throws IOException {
    end(json, entries, ']');
  }
}
