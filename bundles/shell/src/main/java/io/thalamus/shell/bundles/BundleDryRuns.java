// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.bundles;

import io.thalamus.api.NeuralNetworks;
import io.thalamus.console.CommandException;
import java.util.concurrent.locks.ReentrantLock;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/**
 * Dry runs by bundles that are installed under a location of their own, by which the runtime knows
 * them. Thread-safe. One trial at a time, since a bundle can be here once only.
 */
@Component
public final class BundleDryRuns implements DryRuns {
  private final NeuralNetworks networks;
  private final DeviceBundles bundles;
  private final ReentrantLock turn = new ReentrantLock();

  /**
   * Called by the component runtime.
   *
   * @param networks knows which devices are here
   * @param context of this bundle
   */
  @Activate
  public BundleDryRuns(@Reference NeuralNetworks networks, BundleContext context) {
    this.networks = networks;
    this.bundles = new DeviceBundles(context);
  }

  @Override
  public DryRun begin(String device) {
    turn.lock();
    Bundle bundle;
    try {
      bundle = bundles.tryOut(device);
    } catch (CommandException e) {
      turn.unlock();
      throw e;
    }
    try {
      DeviceTracker.await(networks, bundle);
      return () -> end(bundle);
    } catch (CommandException e) {
      end(bundle);
      throw e;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      end(bundle);
      throw new CommandException("interrupted", e);
    }
  }

  private void end(Bundle bundle) {
    try {
      bundles.remove(bundle);
    } catch (InterruptedException e) {
      // The bundle is gone; only its classes may stay for a moment longer.
      Thread.currentThread().interrupt();
    } finally {
      turn.unlock();
    }
  }
}
