// SPDX-License-Identifier: Apache-2.0
package io.thalamus.json;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.PrettyPrinter;
import java.io.IOException;

/** Lays a model out with each operand and each operation on one line. Not thread-safe. */
final class LinePrinter implements PrettyPrinter {
  /** The file, its graphs, a graph, and the list of its operands or operations. */
  private static final int BROKEN = 4;

  private int depth;
  private boolean flat;

  /** Puts what follows on one line, or no longer so. */
  void flat(boolean value) {
    flat = value;
  }

  private void separate(JsonGenerator json, String inline) throws IOException {
    if (flat || depth > BROKEN) {
      json.writeRaw(inline);
    } else {
      json.writeRaw('\n');
      json.writeRaw(" ".repeat(depth));
    }
  }

  private void end(JsonGenerator json, int entries, char end) throws IOException {
    boolean isBroken = !flat && depth <= BROKEN && entries > 0;
    depth--;
    if (isBroken) {
      json.writeRaw('\n');
      json.writeRaw(" ".repeat(depth));
    }
    json.writeRaw(end);
  }

  @Override
  public void writeRootValueSeparator(JsonGenerator json) throws IOException {
    json.writeRaw('\n');
  }

  @Override
  public void writeStartObject(JsonGenerator json) throws IOException {
    json.writeRaw('{');
    depth++;
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
  public void writeStartArray(JsonGenerator json) throws IOException {
    json.writeRaw('[');
    depth++;
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
