// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.shell.format.Json;
import io.thalamus.shell.format.Lines;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Style;
import io.thalamus.shell.format.Units;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The answer of {@code nn:install}, {@code nn:update} and {@code nn:uninstall}.
 *
 * @param what was done
 * @param bundle its symbolic name
 * @param version empty where the bundle is gone
 * @param devices that serve now
 * @param moves of loaded models, as far as they were planned again
 * @param duration until the device served, or was gone
 */
record BundleResult(
    String what,
    String bundle,
    String version,
    List<String> devices,
    List<Move> moves,
    Duration duration,
    Style style)
    implements Result {

  /**
   * A compilation of a loaded model that has another plan than before.
   *
   * @param from operations by device
   * @param to operations by device
   */
  record Move(String model, Map<String, Integer> from, Map<String, Integer> to) {}

  @Override
  public String text() {
    Lines lines = new Lines().add(headline());
    for (Move move : moves) {
      lines.add(
          move.model()
              + " moved: "
              + ModelsResult.text(move.from())
              + " -> "
              + ModelsResult.text(move.to()));
    }
    return lines.toString();
  }

  private String headline() {
    return what
        + " "
        + style.bold(bundle)
        + (version.isEmpty() ? "" : " " + version)
        + " in "
        + Units.time(duration)
        + "; "
        + (devices.isEmpty()
            ? "no device serves now"
            : (devices.size() == 1 ? "device: " : "devices: ") + String.join(", ", devices));
  }

  @Override
  public void json(JsonGenerator json) throws IOException {
    json.writeStringField("done", what);
    json.writeStringField("bundle", bundle);
    json.writeStringField("version", version);
    json.writeArrayFieldStart("devices");
    for (String device : devices) {
      json.writeString(device);
    }
    json.writeEndArray();
    json.writeArrayFieldStart("moves");
    for (Move move : moves) {
      json.writeStartObject();
      json.writeStringField("model", move.model());
      json(json, "from", move.from());
      json(json, "to", move.to());
      json.writeEndObject();
    }
    json.writeEndArray();
    Json.millis(json, "millis", duration.toNanos());
  }

  private static void json(JsonGenerator json, String name, Map<String, Integer> operations)
      throws IOException {
    json.writeObjectFieldStart(name);
    for (Map.Entry<String, Integer> entry : operations.entrySet()) {
      json.writeNumberField(entry.getKey(), entry.getValue());
    }
    json.writeEndObject();
  }
}
