// SPDX-License-Identifier: Apache-2.0
package io.thalamus.cpu;

import io.thalamus.model.OperationCode;

/** The family Detection. */
class DetectionCasesTest extends FamilyCases {
  DetectionCasesTest() {
    super(
        "Detection",
        OperationCode.AXIS_ALIGNED_BBOX_TRANSFORM,
        OperationCode.BOX_WITH_NMS_LIMIT,
        OperationCode.GENERATE_PROPOSALS,
        OperationCode.DETECTION_POSTPROCESSING,
        OperationCode.HEATMAP_MAX_KEYPOINT,
        OperationCode.ROI_ALIGN,
        OperationCode.ROI_POOLING);
  }
}
