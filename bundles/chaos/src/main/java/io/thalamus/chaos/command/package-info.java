// SPDX-License-Identifier: Apache-2.0
/** The command {@code nn:chaos}. */
package io.thalamus.chaos.command;
