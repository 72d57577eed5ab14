// SPDX-License-Identifier: Apache-2.0
package io.thalamus.health;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.felix.hc.api.FormattingResultLog;
import org.apache.felix.hc.api.HealthCheck;
import org.apache.felix.hc.api.Result;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;

/** Whether the framework's storage, where compilations and bundles are, can be written. */
@Component(property = {HealthCheck.NAME + "=Thalamus storage", HealthCheck.TAGS + "=thalamus"})
public final class StorageCheck implements HealthCheck {
  /** A compilation of a large network may need as much. */
  static final long ENOUGH_BYTES = 256L << 20;

  private final Path folder;
  private final long enough;

  /** Called by the component runtime. */
  @Activate
  public StorageCheck(BundleContext context) {
    this(folder(context), ENOUGH_BYTES);
  }

  /** A check of a folder; null where the framework has none. */
  StorageCheck(Path folder, long enough) {
    this.folder = folder;
    this.enough = enough;
  }

  private static Path folder(BundleContext context) {
    File file = context.getDataFile("");
    return file == null ? null : file.toPath();
  }

  @Override
  public Result execute() {
    FormattingResultLog log = new FormattingResultLog();
    if (folder == null) {
      log.warn("the framework has no storage: nothing that is compiled is kept");
      return new Result(log);
    }
    try {
      Files.createDirectories(folder);
      Files.delete(Files.createTempFile(folder, "check", ""));
      long usable = Files.getFileStore(folder).getUsableSpace();
      if (usable < enough) {
        log.warn("{} has {} bytes left: expected at least {}", folder, usable, enough);
      } else {
        log.info("{} can be written and has {} bytes left", folder, usable);
      }
    } catch (IOException e) {
      log.critical("{} cannot be written: {}", folder, e.toString());
    }
    return new Result(log);
  }
}
