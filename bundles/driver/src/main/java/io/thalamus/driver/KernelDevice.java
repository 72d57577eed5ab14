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

  protected KernelDevice(DeviceInfo info, KernelTable table, OperationCatalog catalog) {
    super(info, table.factories(), catalog);
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
