// SPDX-License-Identifier: Apache-2.0
package io.thalamus.vectors;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.PrettyPrinter;
import java.io.IOException;

/**
 * Lays JSON out for people: objects and arrays open their lines down to the depth of operands and
 * operations, of which each stands on one line. Not thread-safe.
 */
final class LinePrinter implements PrettyPrinter {
  private int depth;
  private int brokenDepth;

  /** Says whether the next array or object puts each of its elements on a line of its own. */
  void breakNext() {
    if (brokenDepth == depth) {
      brokenDepth++;
    }
  }

  private boolean isBroken() {
    return depth <= brokenDepth;
  }

  private void open() {
    depth++;
  }

  private void close(JsonGenerator json, int entries, char end) throws IOException {
    boolean broken = isBroken();
    depth--;
    brokenDepth = Math.min(brokenDepth, depth);
    if (broken && entries > 0) {
      newLine(json);
    }
    json.writeRaw(end);
  }

  private void newLine(JsonGenerator json) throws IOException {
    json.writeRaw('\n');
    json.writeRaw(" ".repeat(depth));
  }

  private void separate(JsonGenerator json, String inline) throws IOException {
    if (isBroken()) {
      newLine(json);
    } else {
      json.writeRaw(inline);
    }
  }

  @Override
  public void writeRootValueSeparator(JsonGenerator json) throws IOException {
    json.writeRaw('\n');
  }

  @Override
  public void writeStartObject(JsonGenerator json) throws IOException {
    json.writeRaw('{');
    open();
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
  public void writeStartArray(JsonGenerator json) throws IOException {
    json.writeRaw('[');
    open();
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
