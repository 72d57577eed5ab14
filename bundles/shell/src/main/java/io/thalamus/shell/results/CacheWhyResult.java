// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.results;

import io.thalamus.api.CompilationCache.Forecast;
import io.thalamus.console.Json;
import io.thalamus.console.Result;
import io.thalamus.console.text.Style;
import io.thalamus.console.text.Table;
import java.util.List;

/** The answer of {@code nn:cache why}. Immutable. */
public record CacheWhyResult(String model, List<Forecast> forecasts, Style style)
    implements Result {
  @Override
  public String text() {
    Table table = new Table(style, "device", "part", "would be", "because");
    for (Forecast forecast : forecasts) {
      table.row(
          Table.painted(forecast.device(), style::bold),
          forecast.step(),
          forecast.isStored() ? "from the cache" : "compiled",
          String.join("; ", forecast.reasons()));
    }
    return table.text();
  }

  @Override
  public Object data() {
    return Json.object(
        "model", model, "steps", forecasts.stream().map(CacheWhyResult::step).toList());
  }

  private static Object step(Forecast forecast) {
    return Json.object(
        "device", forecast.device(),
        "part", forecast.step(),
        "isStored", forecast.isStored(),
        "reasons", forecast.reasons());
  }
}
