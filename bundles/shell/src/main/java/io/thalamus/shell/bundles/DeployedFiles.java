// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.bundles;

import io.thalamus.console.CommandException;
import java.io.File;
import java.util.HashMap;
import java.util.Map;
import org.apache.felix.fileinstall.ArtifactInstaller;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Says what is wrong with a jar in the {@code deploy} folder that is no bundle. File Install offers
 * it to everybody and passes over in silence what nobody takes; nor is it taken here, or File
 * Install would not look at it again once it is mended. Thread-safe.
 */
@Component(service = ArtifactInstaller.class)
public final class DeployedFiles implements ArtifactInstaller {
  private final DeployLog notices;
  private final Map<File, Long> told = new HashMap<>();

  /**
   * Called by the component runtime.
   *
   * @param notices where to say it
   */
  @Activate
  public DeployedFiles(@Reference DeployLog notices) {
    this.notices = notices;
  }

  @Override
  public boolean canHandle(File file) {
    if (file.getName().endsWith(".jar") && file.isFile()) {
      try {
        DeviceBundles.symbolicName(file.toPath());
      } catch (CommandException e) {
        tell(file, e.getMessage());
      }
    }
    return false;
  }

  /** Once, though File Install asks at every look. */
  private void tell(File file, String what) {
    boolean isNews;
    synchronized (told) {
      Long modified = file.lastModified();
      isNews = !modified.equals(told.put(file, modified));
    }
    if (isNews) {
      notices.say(what + "; it is passed over");
    }
  }

  @Override
  public void install(File file) {
    throw new IllegalStateException("nothing is taken here");
  }

  @Override
  public void update(File file) {
    throw new IllegalStateException("nothing is taken here");
  }

  @Override
  public void uninstall(File file) {
    throw new IllegalStateException("nothing is taken here");
  }
}
