// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.shell.format.Json;
import io.thalamus.shell.format.Result;
import io.thalamus.shell.format.Style;
import io.thalamus.shell.format.Units;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/**
 * The answer of {@code nn:install}, {@code nn:update} and {@code nn:uninstall}.
 *
 * @param what was done
 * @param bundle its symbolic name
 * @param version empty where the bundle is gone
 * @param devices that serve now
 * @param duration until the device served, or was gone
 */
record BundleResult(
    String what,
    String bundle,
    String version,
    List<String> devices,
    Duration duration,
    Style style)
    implements Result {
  @Override
  public String text() {
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
    Json.millis(json, "millis", duration.toNanos());
  }
}
