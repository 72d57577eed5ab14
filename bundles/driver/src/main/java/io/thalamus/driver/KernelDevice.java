// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.Model;
import io.thalamus.operations.OperationCatalog;
import io.thalamus.operations.ValidationException;

/**
 * A device that runs operations one by one with the kernels of a table. Thread-safe. Drivers extend
 * it and declare their component.
 */
public abstract class KernelDevice extends TableDevice {
  private final KernelTable table;

  /** A device that serves no bursts itself: their requests are executed one by one. */
  protected KernelDevice(DeviceInfo info, KernelTable table, OperationCatalog catalog) {
    this(info, table, catalog, BurstSource.NONE);
  }

  /**
   * A device of these facts.
   *
   * @param bursts serves bursts of its prepared models
   */
  protected KernelDevice(
      DeviceInfo info, KernelTable table, OperationCatalog catalog, BurstSource bursts) {
    super(info, table.factories(), catalog, bursts);
    this.table = table;
  }

  @Override
  protected final PreparedModel compile(Model model, PrepareConfig config)
      throws ValidationException, DeviceException {
    GraphProgram program = GraphProgram.compile(model, catalog(), table, config);
    checkRoom(program.memory().size());
    return new KernelPreparedModel(model, program, this);
  }
}
