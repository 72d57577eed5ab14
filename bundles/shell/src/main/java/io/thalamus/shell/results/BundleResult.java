// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.console.Result;
import io.thalamus.console.text.Lines;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Units;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The answer of {@code nn:install}, {@code nn:update} and {@code nn:uninstall}. Immutable.
 *
 * @param done what was done
 * @param bundle its symbolic name
 * @param version empty where the bundle is gone
 * @param devices that serve now
 * @param moves of loaded models, as far as they were planned again
 * @param duration until the device served, or was gone
 */
public record BundleResult(
    String done,
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
  public record Move(String model, Map<String, Integer> from, Map<String, Integer> to) {}

  @Override
  public String text() {
    Lines lines = new Lines().add(headline());
    for (Move move : moves) {
      lines.add(
          "%s moved: %s -> %s"
              .formatted(
                  move.model(), ModelsResult.text(move.from()), ModelsResult.text(move.to())));
    }
    return lines.toString();
  }

  private String headline() {
    String serving =
        devices.isEmpty()
            ? "no device serves now"
            : (devices.size() == 1 ? "device: " : "devices: ") + String.join(", ", devices);
    String what = style.bold(bundle) + (version.isEmpty() ? "" : " " + version);
    return "%s %s in %s; %s".formatted(done, what, Units.time(duration), serving);
  }
}
